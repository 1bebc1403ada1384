// SPDX-License-Identifier: Apache-2.0
// Prints options.d.ts: the types of the options of match(), from what the methods of this build declare.
//
//   node javascript/make_options.mjs PACKAGE > javascript/options.d.ts
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const types = { flag: "boolean", integer: "number", number: "number" };
const quoted = (words) => words.map((word) => JSON.stringify(word)).join(" | ");

function describe({ help, unit, allowed, default: value, kind }) {
  const range = kind === "flag" || kind === "choice" ? "" : `; ${allowed}`;
  return `${help}${unit ? ` (${unit})` : ""}${range}; default ${value}`;
}

function member(parameter) {
  const type = parameter.kind === "choice" ? quoted(parameter.choices) : types[parameter.kind];
  return `  /** ${describe(parameter)} */\n  ${parameter.name}?: ${type}${parameter.optional ? ' | "none"' : ""};\n`;
}

const nameOf = (method) => `${method.replace(/(^|-)(.)/g, (_, __, letter) => letter.toUpperCase())}Options`;

export function optionsOf(methods) {
  let text = "// SPDX-License-Identifier: Apache-2.0\n// Made by make_options.mjs from what the methods declare.\n";
  for (const { name, presets, parameters } of methods) {
    text += `\nexport interface ${nameOf(name)} {\n  method${name === "sgm" ? "?" : ""}: ${JSON.stringify(name)};\n`;
    text += `  /** Parameters to begin with */\n  preset?: ${quoted(presets)};\n`;
    text += parameters.map(member).join("") + "}\n";
  }
  return text + `\nexport type MethodOptions = ${methods.map(({ name }) => nameOf(name)).join(" | ")};\n`;
}

if (process.argv[2]) {
  const { methods } = await import(pathToFileURL(resolve(process.argv[2], "index.js")));
  process.stdout.write(optionsOf(await methods()));
}
