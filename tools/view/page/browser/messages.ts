// SPDX-License-Identifier: Apache-2.0
// What the page and its worker say to each other.
import type { ServerState } from "../protocol";

// Names of files that came with the request or an earlier one.
export interface SceneFiles {
  left: string;
  // Empty where `left` holds both views.
  right: string;
  layout?: Layout;
  calibration?: string[];
  rig?: string[];
  truth?: string;
}
export type Layout = "side-by-side" | "right-left" | "top-bottom" | "bottom-top";

export interface Sample {
  scene: "dots" | "planes" | "layers";
  width: number;
  height: number;
  disparities: number;
  seed: number;
}

// Frames of one video or of two, which the page decodes when they are wanted.
export interface FrameList {
  count: number;
  // Patterns of file names, one for each video.
  names: string[];
  first: ImageData[];
}

export interface PageRequest {
  method: string;
  what: string;
  parameters: Record<string, string>;
  body: string;
}
export interface PageAnswer {
  status: number;
  type: string;
  content: Uint8Array<ArrayBuffer>;
}

export type ToWorker =
  | { kind: "start"; threads: number }
  | { kind: "open"; id: number; scene: SceneFiles; files: File[]; frames: FrameList | null }
  | { kind: "open-sample"; id: number; sample: Sample }
  | { kind: "ask"; id: number; request: PageRequest }
  // A picture for each name of the list of the scene `id`; none if the frame could not be decoded.
  | { kind: "frame"; id: number; number: number; pictures: ImageData[] };

export type FromWorker =
  | { kind: "started" }
  | { kind: "opened"; id: number; state: ServerState }
  | { kind: "answer"; id: number; answer: PageAnswer }
  | { kind: "refused"; id: number; error: string }
  | { kind: "message"; bytes: ArrayBuffer }
  | { kind: "frame"; id: number; number: number }
  // A line for the user.
  | { kind: "notice"; text: string }
  | { kind: "lost"; error: string };
