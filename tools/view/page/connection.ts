// SPDX-License-Identifier: Apache-2.0
// Keeps the page connected: asks for a matcher, reads the stream, and tries again when the server is gone.
import { find } from "./dom";
import type { Message, Server, ServerState } from "./protocol";
import { Refused } from "./protocol";
import type { Remote } from "./remote";

const retryMilliseconds = 1000;
const patienceForPictures = 500;
const gone = "The server has stopped; start ‘parallax view’ again. Trying to reconnect…";

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class Connection {
  private readonly banner = find("banner");
  private known = "";

  constructor(
    private readonly server: Server,
    private readonly remote: Remote,
    private readonly pictures: () => Promise<void>,
    private readonly begin: (state: ServerState) => void,
    private readonly resend: () => void,
    private readonly receive: (message: Message) => void,
  ) {}

  async keep(): Promise<never> {
    for (;;) {
      try {
        await this.once();
      } catch (error) {
        await this.recover(error);
      }
      this.banner.hidden = false;
      await pause(retryMilliseconds);
    }
  }

  private async once(): Promise<void> {
    // Pictures come while the server still describes itself: they can be shown without that.
    const streaming = this.server.stream(this.receive);
    await Promise.race([this.describe(), streaming]);
    await streaming;
  }

  private async describe(): Promise<void> {
    const state = await this.server.state();
    const text = JSON.stringify(state);
    // Another pair or another version: what the page shows no longer fits.
    if (this.known !== "" && text !== this.known) location.reload();
    const first = this.known === "";
    this.known = text;
    if (first) {
      // Making the panel and matching take all cores: pictures first, unless none come or nobody sees them.
      await Promise.race([this.pictures(), pause(patienceForPictures)]);
      this.begin(state);
    }
    this.banner.hidden = true;
    await this.server.opened;
    this.resend();
  }

  private async recover(error: unknown): Promise<void> {
    this.banner.textContent = error instanceof Refused && error.status !== 403 && error.status !== 404 ? error.message : gone;
    if (error instanceof Refused && error.status === 403) await this.remote.renewToken().catch(() => undefined);
  }
}
