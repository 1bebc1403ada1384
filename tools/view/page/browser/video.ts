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
    throw new Error(`${file.name} is damaged, or this browser cannot decode it: give an MP4 or a WebM`);
  }
  if (!Number.isFinite(video.duration)) throw new Error(`${file.name} does not say how long it is: convert it with ffmpeg`);
  return video;
}

// The times at which frames begin say it: none of the interfaces of browsers does.
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
  await video.play();
  await counted;
  video.pause();
  // Some frames are left out while others are drawn, so the shortest time is the one from a frame to the next.
  const pauses = times.slice(1).map((time, i) => time - times[i]!).filter((pause) => pause > 0.001);
  return pauses.length > 0 ? Math.round(1000 / Math.min(...pauses)) / 1000 : usualFramesPerSecond;
}

export class VideoFrames {
  readonly names: string[];
  readonly count: number;
  private readonly context = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;

  private constructor(
    private readonly videos: HTMLVideoElement[],
    private readonly rate: number,
  ) {
    this.count = Math.max(1, Math.round(Math.min(...videos.map(({ duration }) => duration)) * rate));
    this.names = videos.map((_, i) => `${["left", "right"][i]}_%06d.ppm`);
  }

  // `files`: left and right, or one for both.
  static async open(files: File[]): Promise<VideoFrames> {
    const videos = await Promise.all(files.map(load));
    return new VideoFrames(videos, await framesPerSecond(videos[0]!));
  }

  async decode(number: number): Promise<ImageData[]> {
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

  // Ends what the videos hold.
  close(): void {
    for (const video of this.videos) URL.revokeObjectURL(video.src);
  }

  private picture(video: HTMLVideoElement): ImageData {
    const { canvas } = this.context;
    Object.assign(canvas, { width: video.videoWidth, height: video.videoHeight });
    this.context.drawImage(video, 0, 0);
    return this.context.getImageData(0, 0, canvas.width, canvas.height);
  }
}
