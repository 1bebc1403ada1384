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

export const isView = ({ role }: Given): boolean => role === "left" || role === "right" || role === "both views";

const isVideo = ({ name, type }: File): boolean => type.startsWith("video/") || /\.(mp4|webm|mkv|mov|avi|m4v|ogv)$/i.test(name);
const isOther = ({ name }: File): boolean =>
  /mask|nocc|thumb|readme|licen[cs]e|\.(md|py|log|sh|ply|pcd)$|(^|[^a-z])(occ|disc|all)([^a-z]|$)/i.test(name);
const isCalibration = ({ name }: File): boolean => /\.(txt|ya?ml|json|xml|conf|csv|ini)$/i.test(name);
const isMap = ({ name }: File): boolean => /\.pfm$/i.test(name);
const isTruth = (file: File): boolean => isMap(file) || /truth|(^|[^a-z])(gt|disp|disparity)([^a-z]|$)/i.test(file.name);
const isRight = ({ name }: File): boolean => /right|(^|[^a-z])r([^a-z]|$)/i.test(name) && !/left|(^|[^a-z])l([^a-z]|$)/i.test(name);
const isLeft = ({ name }: File): boolean => /left|(^|[^a-z])l([^a-z]|$)/i.test(name) && !/right|(^|[^a-z])r([^a-z]|$)/i.test(name);

// Left is the one whose name says so; else the first in the alphabet: im0 and im1, view1 and view5, image_2 and image_3.
function pairOf(views: File[]): [File, File] {
  const left = views.find(isLeft) ?? views.find((file) => !isRight(file)) ?? views[0]!;
  const others = views.filter((file) => file !== left);
  return [left, others.find(isRight) ?? others[0]!];
}

// `withViews`: beside files that hold views.
export function withRoles(files: File[], withViews = false): Given[] {
  const sorted = [...files].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const found = new Map<File, Role>();
  const rest = (): File[] => sorted.filter((file) => !found.has(file));
  const give = (role: Role, some: File[]): void => some.forEach((file) => found.set(file, role));
  const giveTruth = (some: File[]): void => {
    give("not used", some);
    give("ground truth", some.slice(0, 1));
  };
  const others = rest().filter(isOther);
  if (withViews || others.length < files.length) give("not used", others);
  give("calibration", rest().filter(isCalibration));
  // One map is the truth; others count only where enough pictures are left.
  const maps = rest().filter(isMap);
  const named = rest().filter((file) => isTruth(file) && !isMap(file));
  const views = rest().length - maps.length - named.length;
  if (maps.length > 0) give("not used", named.filter(() => views > 0));
  else if (views >= 1 || withViews) giveTruth(named);
  giveTruth(maps);
  const left = rest();
  if (left.length === 1) give("both views", left);
  if (left.length >= 2) {
    const [one, other] = pairOf(left);
    found.set(one, "left").set(other, "right");
  }
  return sorted.map((file) => ({ file, role: found.get(file) ?? "not used" }));
}

// What was dropped, and the files of folders.
export async function filesOf(data: DataTransfer): Promise<File[]> {
  // These are gone once this waits for anything.
  const entries = [...data.items].filter(({ kind }) => kind === "file").map((item) => item.webkitGetAsEntry());
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

// Whether a picture may hold both views: it is at least twice as wide as high, or is of a kind that says so.
export async function mayHoldBoth(file: File): Promise<boolean> {
  if (isVideo(file) || /\.(jps|mpo|pns)$/i.test(file.name)) return true;
  try {
    const { width, height } = await createImageBitmap(file);
    return width >= 2 * height;
  } catch {
    return false;
  }
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
  if (of("ground truth").length > 1) throw new Error("There are several ground truths: choose one.");
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
  if (truth) throw new Error(`${truth.name} is the ground truth of one pair: leave it out of a video.`);
  const frames = await VideoFrames.open(videos);
  scene.left = frames.names[0]!;
  scene.right = frames.names[1] ?? "";
  return { scene, files: used.map(({ file }) => file).filter((file) => !videos.includes(file)), frames };
}
