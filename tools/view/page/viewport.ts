// SPDX-License-Identifier: Apache-2.0
// Which part of the picture a pane shows: all panes move and zoom in step.
import type { Size } from "./protocol";

const mostZoom = 96;

export class Viewport {
  // CSS pixels for a pixel of the full picture, and where its corner is in the pane, in CSS pixels.
  zoom = 1;
  x = 0;
  y = 0;
  // Whether the view follows the size of the pane.
  fitted = true;
  private picture: Size = { width: 1, height: 1 };
  private pane: Size = { width: 1, height: 1 };

  setPicture(size: Size): void {
    const same = size.width === this.picture.width && size.height === this.picture.height;
    this.picture = size;
    if (!same) this.fit();
  }

  setPane(size: Size): void {
    const dx = (size.width - this.pane.width) / 2;
    const dy = (size.height - this.pane.height) / 2;
    this.pane = size;
    if (this.fitted) return this.fit();
    this.x += dx;
    this.y += dy;
    this.clamp();
  }

  fit(): void {
    this.zoom = this.fitZoom();
    this.x = (this.pane.width - this.picture.width * this.zoom) / 2;
    this.y = (this.pane.height - this.picture.height * this.zoom) / 2;
    this.fitted = true;
  }

  pan(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
    this.fitted = false;
    this.clamp();
  }

  // Zooms so that the point (x, y) of the pane stays where it is.
  zoomAt(factor: number, x = this.pane.width / 2, y = this.pane.height / 2): void {
    const least = Math.min(this.fitZoom(), 1);
    const zoom = Math.min(Math.max(this.zoom * factor, least), mostZoom);
    const ratio = zoom / this.zoom;
    this.x = x - (x - this.x) * ratio;
    this.y = y - (y - this.y) * ratio;
    this.zoom = zoom;
    this.fitted = false;
    this.clamp();
  }

  // Moves as little as makes the pixel (x, y) visible.
  reveal(x: number, y: number): void {
    const margin = 24;
    const at = this.toPane(x + 0.5, y + 0.5);
    const dx = Math.max(margin - at.x, 0) + Math.min(this.pane.width - margin - at.x, 0);
    const dy = Math.max(margin - at.y, 0) + Math.min(this.pane.height - margin - at.y, 0);
    if (!this.fitted && (dx !== 0 || dy !== 0)) this.pan(dx, dy);
  }

  toPane(x: number, y: number): { x: number; y: number } {
    return { x: this.x + x * this.zoom, y: this.y + y * this.zoom };
  }

  toPicture(x: number, y: number): { x: number; y: number } {
    return { x: (x - this.x) / this.zoom, y: (y - this.y) / this.zoom };
  }

  // The part of the picture that the pane shows.
  visible(): { left: number; top: number; right: number; bottom: number } {
    const corner = this.toPicture(0, 0);
    const opposite = this.toPicture(this.pane.width, this.pane.height);
    return {
      left: Math.max(0, corner.x),
      top: Math.max(0, corner.y),
      right: Math.min(this.picture.width, opposite.x),
      bottom: Math.min(this.picture.height, opposite.y),
    };
  }

  private fitZoom(): number {
    return Math.min(this.pane.width / this.picture.width, this.pane.height / this.picture.height) || 1;
  }

  // Keeps a picture smaller than the pane in its middle, and a larger one over all of it.
  private clamp(): void {
    const keep = (at: number, pane: number, picture: number): number =>
      picture <= pane ? (pane - picture) / 2 : Math.min(0, Math.max(pane - picture, at));
    this.x = keep(this.x, this.pane.width, this.picture.width * this.zoom);
    this.y = keep(this.y, this.pane.height, this.picture.height * this.zoom);
  }
}
