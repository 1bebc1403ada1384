// SPDX-License-Identifier: Apache-2.0
// Pictures of the kinds that only the browser decodes, as files that the viewer's server reads.

// A PPM of the colours, without the alpha channel.
export function netpbm({ width, height, data }: ImageData): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`P6\n${width} ${height}\n255\n`);
  const bytes = new Uint8Array(head.length + 3 * width * height);
  bytes.set(head);
  for (let from = 0, to = head.length; to < bytes.length; from += 4, to += 3) {
    bytes[to] = data[from]!;
    bytes[to + 1] = data[from + 1]!;
    bytes[to + 2] = data[from + 2]!;
  }
  return bytes;
}

// Whether only a browser reads this: GIF, WebP, AVIF and other pictures within ISO media files.
function isForBrowser(bytes: Uint8Array): boolean {
  const text = String.fromCharCode(...bytes.subarray(0, 12));
  return /^GIF8|^RIFF[^]{4}WEBP|^[^]{4}ftyp(avif|avis|heic|heix|mif1)/.test(text);
}

// The bytes of a file, or a PPM of what it shows. What the browser cannot decode stays as it is: the server says so.
export async function asReadable(file: Blob): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (!isForBrowser(bytes)) return bytes;
  try {
    const bitmap = await createImageBitmap(file, { colorSpaceConversion: "none" });
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d", { willReadFrequently: true })!;
    context.drawImage(bitmap, 0, 0);
    return netpbm(context.getImageData(0, 0, bitmap.width, bitmap.height));
  } catch {
    return bytes;
  }
}
