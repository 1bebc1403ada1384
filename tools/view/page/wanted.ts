// SPDX-License-Identifier: Apache-2.0
// Tells the server which planes of a frame the page needs beside the left picture: sending others would cost time.
import type { Kind } from "./layers";
import { shownLayers } from "./layers";
import type { Server } from "./protocol";
import { on, state } from "./state";

const ofRightPicture: readonly Kind[] = ["right", "warped", "residual"];

export class Wanted {
  private told = "";

  constructor(private readonly server: Server) {
    on(["view", "pictures", "server"], () => this.tell());
  }

  // After a reconnection: the server knows nothing of this page.
  resend(): void {
    this.told = "";
    this.tell();
  }

  private tell(): void {
    // The first picture first.
    if (state.pictures === null) return;
    const right = shownLayers().some(({ kind }) => ofRightPicture.includes(kind));
    const wanted = { right, truth: state.server?.truth === true };
    const text = JSON.stringify(wanted);
    if (text === this.told || (this.told === "" && !wanted.right && !wanted.truth)) return;
    this.told = text;
    void this.server.planes(wanted).catch(() => (this.told = ""));
  }
}
