// SPDX-License-Identifier: Apache-2.0
declare module "*/engine/loader.js" {
  export const hasThreads: boolean;
  export const hasVectors: boolean;
  export function reserveMemory(most?: number): WebAssembly.Memory;
  export function loadModule(
    name: string,
    threads: number,
    memory: WebAssembly.Memory,
    tell?: (line: string) => void,
  ): Promise<{ module: unknown; memory: WebAssembly.Memory }>;
}
