// SPDX-License-Identifier: Apache-2.0
// Colours of values: tables of 256 colours, and a colour for each status.
import type { ColourMap } from "./state";

// The colours of src/formats/colour.cpp. Anton Mikhailov, "Turbo, An Improved Rainbow Colormap for
// Visualization", Google 2019 (Apache 2.0).
const turbo =
  "30123B32154333184A341B51351E5836215F37246638276D392A733A2D793B2F803C32863D358B3E38913F3B973F3E9C4040A24143A7" +
  "4146AC4249B1424BB5434EBA4451BF4454C34456C74559CB455CCF455ED34661D64664DA4666DD4669E0466BE3476EE64771E94773EB" +
  "4776EE4778F0477BF2467DF44680F64682F84685FA4687FB458AFC458CFD448FFE4391FE4294FF4196FF4099FF3E9BFE3D9EFE3BA0FD" +
  "3AA3FC38A5FB37A8FA35ABF833ADF731AFF52FB2F42EB4F22CB7F02AB9EE28BCEB27BEE925C0E723C3E422C5E220C7DF1FC9DD1ECBDA" +
  "1CCDD81BD0D51AD2D21AD4D019D5CD18D7CA18D9C818DBC518DDC218DEC018E0BD19E2BB19E3B91AE4B61CE6B41DE7B21FE9AF20EAAC" +
  "22EBAA25ECA727EEA42AEFA12CF09E2FF19B32F29835F39438F4913CF58E3FF68A43F78746F8844AF8804EF97D52FA7A55FA7659FB73" +
  "5DFC6F61FC6C65FD6969FD666DFE6271FE5F75FE5C79FE597DFF5680FF5384FF5188FF4E8BFF4B8FFF4992FF4796FE4499FE429CFE40" +
  "9FFD3FA1FD3DA4FC3CA7FC3AA9FB39ACFB38AFFA37B1F936B4F836B7F735B9F635BCF534BEF434C1F334C3F134C6F034C8EF34CBED34" +
  "CDEC34D0EA34D2E935D4E735D7E535D9E436DBE236DDE037DFDF37E1DD37E3DB38E5D938E7D739E9D539EBD339ECD13AEECF3AEFCD3A" +
  "F1CB3AF2C93AF4C73AF5C53AF6C33AF7C13AF8BE39F9BC39FABA39FBB838FBB637FCB336FCB136FDAE35FDAC34FEA933FEA732FEA431" +
  "FEA130FE9E2FFE9B2DFE992CFE962BFE932AFE9029FD8D27FD8A26FC8725FC8423FB8122FB7E21FA7B1FF9781EF9751DF8721CF76F1A" +
  "F66C19F56918F46617F36315F26014F15D13F05B12EF5811ED5510EC530FEB500EEA4E0DE84B0CE7490CE5470BE4450AE2430AE14109" +
  "DF3F08DD3D08DC3B07DA3907D83706D63506D43305D23105D02F05CE2D04CC2B04CA2A04C82803C52603C32503C12302BE2102BC2002" +
  "B91E02B71D02B41B01B21A01AF1801AC1701A91601A71401A41301A112019E10019B0F01980E01950D01920B018E0A018B0902880802" +
  "8507028106027E05027A0403";

// Every 28th or 29th colour of viridis, by Stéfan van der Walt and Nathaniel Smith (CC0); those between are interpolated.
const viridis = "4401544828783e498931688e26828e1f9e8935b7796ece58b5de2bfde725";
const gray = "000000ffffff";
const heat = "0b0d122a1a4a7a1f5cc43c3cf08a24fbd65bfffbe6";
const diverging = "2166ac4393c392c5def7f7f7f4a582d6604db2182b";

const statusShades = ["4f7d63", "4aa3df", "8f76d6", "e8833a", "e6c545", "98a2ad", "d9527f", "39404a"];

export type Table = ColourMap | "heat" | "diverging" | "status";
export const tables: readonly Table[] = ["turbo", "viridis", "gray", "heat", "diverging", "status"];
export const tableSize = 256;

type Colour = [number, number, number];

function parse(hexadecimal: string): Colour[] {
  const shades = hexadecimal.match(/.{6}/g) ?? [];
  return shades.map((shade) => [0, 2, 4].map((i) => parseInt(shade.slice(i, i + 2), 16)) as Colour);
}

// 256 colours through `anchors` at equal distances.
function between(anchors: Colour[]): Colour[] {
  return Array.from({ length: tableSize }, (_, i) => {
    const position = (i / (tableSize - 1)) * (anchors.length - 1);
    const low = Math.min(Math.floor(position), anchors.length - 2);
    const weight = position - low;
    return [0, 1, 2].map((c) =>
      Math.round((1 - weight) * anchors[low]![c]! + weight * anchors[low + 1]![c]!),
    ) as Colour;
  });
}

function repeated(colours: Colour[]): Colour[] {
  return Array.from({ length: tableSize }, (_, i) => colours[i % colours.length]!);
}

const colours: Record<Table, Colour[]> = {
  turbo: parse(turbo),
  viridis: between(parse(viridis)),
  gray: between(parse(gray)),
  heat: between(parse(heat)),
  diverging: between(parse(diverging)),
  status: repeated(parse(statusShades.join(""))),
};

export function colourAt(table: Table, index: number): Colour {
  return colours[table][Math.min(Math.max(Math.round(index), 0), tableSize - 1)]!;
}

export function css(colour: Colour): string {
  return `rgb(${colour.join(" ")})`;
}

// All tables as rows of an RGBA picture, for the graphics card.
export function tablePicture(): Uint8Array {
  const picture = new Uint8Array(4 * tableSize * tables.length);
  tables.forEach((table, row) =>
    colours[table].forEach((colour, i) => picture.set([...colour, 255], 4 * (row * tableSize + i))),
  );
  return picture;
}
