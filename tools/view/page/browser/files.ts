// SPDX-License-Identifier: Apache-2.0
// Which file is what: by their kinds and names, until the user says otherwise.
import type { Source } from "./engine";
import type { Layout, SceneFiles } from "./messages";
import { VideoFrames } from "./video";

export const roles = ["left", "right", "both views", "calibration", "ground truth", "not used"] as const;
export type Role = (typeof roles)[number];

export interface Given {
  file: File;
  role: Role;
}

export interface Choices {
  layout: Layout | "";
  // Whether the calibration is that of cameras whose pictures are not rectified yet.
  rectify: boolean;
}

const isVideo = ({ name, type }: File): boolean => type.startsWith("video/") || /\.(mp4|webm|mkv|mov|avi|m4v|ogv)$/i.test(name);
const isCalibration = ({ name }: File): boolean => /\.(txt|ya?ml|json|xml|conf|csv|ini)$/i.test(name);
const isTruth = ({ name }: File): boolean => /\.pfm$/i.test(name) || /(truth|disp|(^|[^a-z])gt([^a-z]|$))/i.test(name);
const isOther = ({ name }: File): boolean => /mask|nocc|conf(idence)?[^a-z]|thumb|\.(md|py|log|sh)$/i.test(name);
// What stands in the names of left and right pictures.
const rightWords = /right|(^|[^a-z])r([^a-z]|$)|im(age|g)?_?0*1([^0-9]|$)|view_?5|cam(era)?_?0*1([^0-9]|$)|image_?0*3([^0-9]|$)/i;
const leftWords = /left|(^|[^a-z])l([^a-z]|$)|im(age|g)?_?0+([^0-9]|$)|view_?1|cam(era)?_?0+([^0-9]|$)|image_?0*2([^0-9]|$)/i;

// Left is the one whose name says so; else the first in the alphabet.
function inOrder(views: File[]): [File, File] {
  const isRight = ({ name }: File) => rightWords.test(name) && !leftWords.test(name);
  const isLeft = ({ name }: File) => leftWords.test(name) && !rightWords.test(name);
  const left = views.find(isLeft) ?? views.find((file) => !isRight(file)) ?? views[0]!;
  const others = views.filter((file) => file !== left);
  return [left, others.find(isRight) ?? others[0]!];
}

export function withRoles(files: File[]): Given[] {
  const sorted = [...files].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const found = new Map<File, Role>();
  const rest = (): File[] => sorted.filter((file) => !found.has(file));
  const give = (role: Role, is: (file: File) => boolean): void => {
    for (const file of rest()) if (is(file)) found.set(file, role);
  };
  give("calibration", isCalibration);
  // One map is the truth where there are pictures besides.
  if (rest().some((file) => !isOther(file))) give("not used", isOther);
  const [truth] = rest().filter(isTruth);
  if (truth && rest().some((file) => !isTruth(file))) {
    found.set(truth, "ground truth");
    give("not used", isTruth);
  }
  const views = rest();
  if (views.length === 1) found.set(views[0]!, "both views");
  if (views.length >= 2) {
    const [left, right] = inOrder(views);
    found.set(left, "left").set(right, "right");
  }
  return sorted.map((file) => ({ file, role: found.get(file) ?? "not used" }));
}

// What was dropped, and the files of folders.
export async function filesOf(data: DataTransfer): Promise<File[]> {
  // These are gone once this waits for anything.
  const entries = [...data.items].map((item) => item.webkitGetAsEntry());
  const files = [...data.files];
  const folders = entries.filter((entry) => entry?.isDirectory) as FileSystemDirectoryEntry[];
  const found = files.filter((_, i) => !entries[i]?.isDirectory);
  for (const folder of folders) {
    const inside = await new Promise<FileSystemEntry[]>((resolve, reject) => folder.createReader().readEntries(resolve, reject));
    for (const entry of inside)
      if (entry.isFile && !entry.name.startsWith("."))
        found.push(await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)));
  }
  return found;
}

// The file under a name of its own.
function renamed(file: File, taken: Set<string>): File {
  let { name } = file;
  while (taken.has(name)) name = `other-${name}`;
  taken.add(name);
  return name === file.name ? file : new File([file], name, { type: file.type });
}

// \throws Error in words for the user
export async function sourceOf(given: Given[], { layout, rectify }: Choices): Promise<Source> {
  const taken = new Set<string>();
  const of = (role: Role) => used.filter((one) => one.role === role).map(({ file }) => file);
  const used = given.filter(({ role }) => role !== "not used").map(({ file, role }) => ({ file: renamed(file, taken), role }));
  const views = [...of("left"), ...of("right")];
  const both = of("both views");
  if (both.length > 1 || (both.length === 1 && views.length > 0) || of("left").length > 1 || of("right").length > 1)
    throw new Error("There are more views than two: give a left and a right picture, or one with both views.");
  if (both.length === 0 && (of("left").length === 0 || of("right").length === 0))
    throw new Error(`The ${of("left").length === 0 ? "left" : "right"} picture is missing: give both, or one with both views.`);
  const pictures = both.length > 0 ? both : views;
  const calibration = of("calibration").map(({ name }) => name);
  const scene: SceneFiles = { left: pictures[0]!.name, right: pictures[1]?.name ?? "" };
  if (layout !== "" && both.length > 0) scene.layout = layout;
  if (calibration.length > 0) scene[rectify ? "rig" : "calibration"] = calibration;
  const truth = of("ground truth")[0];
  if (truth) scene.truth = truth.name;
  const videos = pictures.filter(isVideo);
  if (videos.length === 0) return { scene, files: used.map(({ file }) => file), frames: null };
  if (videos.length !== pictures.length) throw new Error("One view is a video and the other one a picture: give two of a kind.");
  const frames = await VideoFrames.open(videos);
  scene.left = frames.names[0]!;
  scene.right = frames.names[1] ?? "";
  return { scene, files: used.map(({ file }) => file).filter((file) => !videos.includes(file)), frames };
}
