// SPDX-License-Identifier: Apache-2.0
// Sends settings: at most once per picture of the screen and one request at a time, always the newest.
import { oncePerFrame } from "./dom";
import type { Method, Server, Settings, Slot, Values } from "./protocol";
import { wantsBothMaps } from "./layers";
import { on, slots, state, tell } from "./state";

// The map that was made elsewhere, as a method without parameters.
const stored: Method = { name: "", help: "", devices: [], presets: [{ name: "", values: {} }], parameters: [] };
export const storedName = "stored map";

export function methodOf(settings: Settings): Method {
  if (settings.method === "") return stored;
  const methods = state.server!.methods;
  return methods.find(({ name }) => name === settings.method) ?? methods[0]!;
}

// The search range belongs to the pair, not to a preset.
export const searchGroup = "Search";

// The values that parameters of a method have until somebody changes them.
export function presetValues(method: Method, preset: string): Values {
  const { values } = method.presets.find(({ name }) => name === preset) ?? method.presets[0]!;
  const start = state.server!.start.values;
  const value = (name: string, group: string) => (group === searchGroup ? start[name] : undefined) ?? values[name] ?? null;
  return Object.fromEntries(method.parameters.map(({ name, group }) => [name, value(name, group)]));
}

// The same with the search range of `now`.
export function keepingRange(method: Method, preset: string, now: Values): Values {
  const values = presetValues(method, preset);
  for (const { name, group } of method.parameters)
    if (group === searchGroup && now[name] !== undefined) values[name] = now[name];
  return values;
}

export class Matching {
  private readonly waiting = new Set<Slot>();
  private request = 0;
  private sending = false;
  private readonly soon = oncePerFrame(() => {
    this.sentInFrame = false;
    void this.send();
  });
  private sentInFrame = false;

  private readonly bothMaps = { A: false, B: false };

  constructor(private readonly server: Server) {
    // A map that has what is shown is not made again when less is shown.
    on("view", () => {
      for (const slot of slots)
        if (wantsBothMaps(slot) && !this.bothMaps[slot] && state.results[slot].settings !== null) this.change(slot);
    });
  }

  change(slot: Slot): void {
    this.waiting.add(slot);
    void this.send();
  }

  // After a reconnection: the server knows nothing of this page.
  resend(): void {
    this.sending = false;
    for (const slot of slots) if (state.results[slot].settings !== null) this.change(slot);
  }

  private async send(): Promise<void> {
    if (this.sending || this.sentInFrame) return;
    const slot = [...this.waiting][0];
    if (slot === undefined) return;
    this.waiting.delete(slot);
    this.sending = this.sentInFrame = true;
    this.soon();
    const { settings } = state.results[slot];
    ++this.request;
    this.bothMaps[slot] = wantsBothMaps(slot);
    try {
      await this.server.settings(slot, this.request, settings, this.bothMaps[slot]);
    } catch (error) {
      state.results[slot].error = error instanceof Error ? error.message : String(error);
      tell("problem");
    }
    this.sending = false;
    void this.send();
  }
}
