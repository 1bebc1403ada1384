// SPDX-License-Identifier: Apache-2.0
// Plays a sequence: play, step, choose a frame; the rates of matches and of pictures on the screen; records the map.
import { find, fixed, save } from "./dom";
import type { Server } from "./protocol";
import { on, state, tell } from "./state";

// How often something happened within the last two seconds, per second.
class Rate {
  private times: number[] = [];

  count(): void {
    const now = performance.now();
    this.times = [...this.times.filter((time) => now - time < 2000), now];
  }

  now(): number {
    const span = (this.times.at(-1) ?? 0) - (this.times[0] ?? 0);
    return span > 0 ? (1000 * (this.times.length - 1)) / span : 0;
  }
}

export class Player {
  private readonly bar = find("player");
  private readonly button = find<HTMLButtonElement>("play");
  private readonly recordButton = find<HTMLButtonElement>("record");
  private readonly slider = find<HTMLInputElement>("frame");
  private readonly displayed = new Rate();
  private readonly matched = new Rate();
  private sending = false;
  private wanted: number | null = null;

  constructor(private readonly server: Server) {
    on("server", () => this.prepare());
    on("sequence", () => this.show());
    on("pictures", () => {
      this.displayed.count();
      this.show();
    });
    on("map", () => this.matched.count());
    this.button.addEventListener("click", () => this.toggle());
    find("step-back").addEventListener("click", () => this.step(-1));
    find("step-forward").addEventListener("click", () => this.step(1));
    this.recordButton.addEventListener("click", () => void this.record());
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
  }

  private get frames(): number {
    return state.server?.source.frames ?? 0;
  }

  private get live(): boolean {
    return state.server?.source.kind === "camera";
  }

  get shown(): boolean {
    return !this.bar.hidden;
  }

  toggle(): void {
    if (this.shown) void this.server.play({ playing: !state.playing }).catch(() => undefined);
  }

  step(by: number): void {
    if (this.shown && !this.live) this.go((this.wanted ?? state.pictures?.frame ?? state.frame) + by);
  }

  private go(frame: number): void {
    this.wanted = Math.min(Math.max(frame, 0), this.frames > 0 ? this.frames - 1 : Infinity);
    void this.send();
  }

  private async send(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    while (this.wanted !== null) {
      const frame = this.wanted;
      this.wanted = null;
      await this.server.play({ playing: false, frame }).catch(() => undefined);
    }
    this.sending = false;
  }

  private prepare(): void {
    this.bar.hidden = state.server?.source.kind === "pair";
    this.slider.max = String(Math.max(this.frames - 1, 0));
    this.slider.hidden = this.frames === 0;
    // A camera does not go back.
    for (const id of ["step-back", "step-forward"]) find(id).hidden = this.live;
    this.show();
  }

  private async record(): Promise<void> {
    this.recordButton.disabled = true;
    try {
      if (state.recorded === null) await this.server.record();
      else save(await this.server.endRecording(), "disparity.avi");
    } catch (error) {
      state.error = error instanceof Error ? error.message : String(error);
      tell("problem");
    }
    this.recordButton.disabled = false;
  }

  private show(): void {
    if (!this.shown) return;
    const frame = state.pictures?.frame ?? state.frame;
    this.button.setAttribute("aria-pressed", String(state.playing));
    this.button.setAttribute("aria-label", state.playing ? "Pause" : "Play");
    if (document.activeElement !== this.slider || state.playing) this.slider.value = String(frame);
    find("frame-number").textContent = this.frames > 0 ? `${frame + 1} of ${this.frames}` : `frame ${frame + 1}`;
    this.recordButton.setAttribute("aria-pressed", String(state.recorded !== null));
    find("record-name").textContent = state.recorded === null ? "Record" : `Save ${state.recorded} frames`;
    const rates = `${fixed(this.matched.now(), 1)} matched, ${fixed(this.displayed.now(), 1)} shown per second`;
    find("rates").textContent = state.playing ? rates : "";
  }
}
