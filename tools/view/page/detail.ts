// SPDX-License-Identifier: Apache-2.0
// Tiles at full resolution of pairs that are too large to be sent whole: fetched where the view is close enough, and
// forgotten when others are needed more.
import type { Message, Server } from "./protocol";
import { mapPlanes } from "./protocol";
import { PlaneSet } from "./planes";
import { comparing } from "./layers";
import { state } from "./state";
import type { Viewport } from "./viewport";

export const tileSize = 512;
// 32 tiles with two results take about 130 MB.
const mostTiles = 32;
const mostInFlight = 2;

interface Tile {
  column: number;
  row: number;
  planes: PlaneSet;
  used: number;
}

export class DetailTiles {
  private readonly tiles = new Map<string, Tile>();
  private readonly asked = new Set<string>();
  // Counts up whenever what tiles show is out of date.
  private generation = 0;
  private clock = 0;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    private readonly server: Server,
    private readonly arrived: () => void,
  ) {}

  clear(): void {
    for (const tile of this.tiles.values()) tile.planes.free();
    this.tiles.clear();
    this.asked.clear();
    ++this.generation;
  }

  // The tiles to be drawn over the whole picture, whose pixels are `density` pixels of the screen wide.
  visible(viewport: Viewport, density: number): Tile[] {
    const pictures = state.pictures;
    if (pictures === null || pictures.scale <= 1 || density < 1.25) return [];
    const part = viewport.visible();
    const wanted: { column: number; row: number; distance: number }[] = [];
    for (let row = Math.floor(part.top / tileSize); row * tileSize < part.bottom; ++row)
      for (let column = Math.floor(part.left / tileSize); column * tileSize < part.right; ++column) {
        const dx = (column + 0.5) * tileSize - (part.left + part.right) / 2;
        const dy = (row + 0.5) * tileSize - (part.top + part.bottom) / 2;
        wanted.push({ column, row, distance: dx * dx + dy * dy });
      }
    if (wanted.length > mostTiles) return [];
    wanted.sort((a, b) => a.distance - b.distance);
    for (const { column, row } of wanted) this.ask(column, row);
    ++this.clock;
    const found = wanted.map(({ column, row }) => this.tiles.get(`${column},${row}`)).filter((tile) => tile !== undefined);
    for (const tile of found) tile.used = this.clock;
    return found;
  }

  private ask(column: number, row: number): void {
    const key = `${column},${row}`;
    if (this.asked.size >= mostInFlight || this.asked.has(key) || this.tiles.has(key)) return;
    if (state.results.A.map === null || state.playing) return;
    this.asked.add(key);
    const { generation } = this;
    this.fetch(column, row)
      .then((messages) => {
        if (generation !== this.generation) return;
        this.keep(key, { column, row, planes: this.planesOf(messages), used: this.clock });
      })
      // What cannot be had at full resolution stays as it is, until the next map.
      .catch(() => undefined)
      .finally(() => {
        if (generation !== this.generation) return;
        this.asked.delete(key);
        this.arrived();
      });
  }

  private fetch(column: number, row: number): Promise<Message[]> {
    const { width, height } = state.pictures!.size;
    const [x, y] = [column * tileSize, row * tileSize];
    const size = { width: Math.min(tileSize, width - x), height: Math.min(tileSize, height - y) };
    const both = comparing() && state.results.B.map !== null ? (["A", "B"] as const) : (["A"] as const);
    return Promise.all(both.map((slot) => this.server.region(slot, x, y, size)));
  }

  private planesOf(messages: Message[]): PlaneSet {
    const set = new PlaneSet(this.gl);
    messages.forEach((message, index) => {
      const plane = (name: string) => message.planes.get(name) ?? null;
      const truth = plane("truth");
      if (index === 0)
        set.setPictures(plane("left"), plane("right"), truth && { plane: truth, lowest: 0, steps: 1, ...message.truth });
      if (plane("disparity") && plane("status")) set.setMap(index === 0 ? "A" : "B", mapPlanes(message));
    });
    return set;
  }

  private keep(key: string, tile: Tile): void {
    this.tiles.set(key, tile);
    if (this.tiles.size <= mostTiles) return;
    const [oldest, last] = [...this.tiles].reduce((a, b) => (a[1].used <= b[1].used ? a : b));
    last.planes.free();
    this.tiles.delete(oldest);
  }
}
