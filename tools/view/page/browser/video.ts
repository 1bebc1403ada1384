// SPDX-License-Identifier: Apache-2.0
// Frames of one video that holds both views, or of one for each view, decoded by the browser.

const usualFramesPerSecond = 25;
// Frames that are played to find their rate.
const framesToCount = 8;
const patience = 2000;

const event = (video: HTMLVideoElement, name: string): Promise<void> =>
  new Promise((resolve, reject) => {
    video.addEventListener(name, () => resolve(), { once: true });
    video.addEventListener("error", () => reject(new Error(video.error?.message ?? "")), { once: true });
  });

async function load(file: File): Promise<HTMLVideoElement> {
  const video = document.createElement("video");
  Object.assign(video, { muted: true, playsInline: true, preload: "auto", src: URL.createObjectURL(file) });
  try {
    await event(video, "loadeddata");
  } catch {
    throw new Error(`${file.name} is damaged, or this browser cannot decode it: give an MP4 or a WebM.`);
  }
  if (!Number.isFinite(video.duration)) throw new Error(`${file.name} does not say how long it is: convert it with ffmpeg.`);
  if (video.videoWidth === 0) throw new Error(`${file.name} has sound only: give a video.`);
  return video;
}

// The times at which frames begin say it: none of the interfaces of browsers does. They may be rounded to milliseconds, and
// frames may be left out.
async function framesPerSecond(video: HTMLVideoElement): Promise<number> {
  if (!("requestVideoFrameCallback" in video)) return usualFramesPerSecond;
  const times: number[] = [];
  const counted = new Promise<void>((resolve) => {
    const count = (_: number, { mediaTime }: { mediaTime: number }) => {
      times.push(mediaTime);
      if (times.length > framesToCount) resolve();
      else video.requestVideoFrameCallback(count);
    };
    video.requestVideoFrameCallback(count);
    video.addEventListener("ended", () => resolve(), { once: true });
    setTimeout(resolve, patience);
  });
  // Ends with an error where the video ends at once.
  await video.play().catch(() => undefined);
  await counted;
  video.pause();
  const pauses = times.slice(1).map((time, i) => time - times[i]!).filter((pause) => pause > 0.001);
  if (pauses.length === 0) return usualFramesPerSecond;
  const shortest = Math.min(...pauses);
  const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
  return sum(pauses.map((pause) => Math.round(pause / shortest))) / sum(pauses);
}

export class VideoFrames {
  // Patterns of the names of frames.
  readonly names: string[];
  readonly count: number;
  private readonly context = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
  private last: Promise<unknown> = Promise.resolve();

  private constructor(
    readonly files: File[],
    private readonly videos: HTMLVideoElement[],
    private readonly rate: number,
  ) {
    this.count = Math.max(1, Math.round(Math.min(...videos.map(({ duration }) => duration)) * rate));
    this.names = files.map(({ name }) => `${name.replaceAll("%", "")}_%06d.ppm`);
  }

  // `files`: left and right, or one for both.
  static async open(files: File[]): Promise<VideoFrames> {
    const videos = await Promise.all(files.map(load));
    const sizes = videos.map(({ videoWidth, videoHeight }) => `${videoWidth}×${videoHeight}`);
    if (sizes.length > 1 && sizes[0] !== sizes[1])
      throw new Error(`${files[0]!.name} is ${sizes[0]}, ${files[1]!.name} ${sizes[1]}: give videos of one size.`);
    return new VideoFrames(files, videos, await framesPerSecond(videos[0]!));
  }

  // One frame after the other: a video is at one place at a time.
  decode(number: number): Promise<ImageData[]> {
    const frame = this.last.then(() => this.decodeNow(number));
    this.last = frame.catch(() => undefined);
    return frame;
  }

  // Releases what the videos hold.
  close(): void {
    for (const video of this.videos) {
      URL.revokeObjectURL(video.src);
      video.removeAttribute("src");
      video.load();
    }
  }

  private async decodeNow(number: number): Promise<ImageData[]> {
    const pictures: ImageData[] = [];
    for (const video of this.videos) {
      const ready = event(video, "seeked");
      // The middle of a frame, because its limits are rounded.
      video.currentTime = (number + 0.5) / this.rate;
      await ready;
      pictures.push(this.picture(video));
    }
    return pictures;
  }

  private picture(video: HTMLVideoElement): ImageData {
    const { canvas } = this.context;
    Object.assign(canvas, { width: video.videoWidth, height: video.videoHeight });
    this.context.drawImage(video, 0, 0);
    return this.context.getImageData(0, 0, canvas.width, canvas.height);
  }
}
