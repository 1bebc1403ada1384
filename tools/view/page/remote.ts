// SPDX-License-Identifier: Apache-2.0
// Carries requests to the server of 'parallax view', with the token that it gave its page.

const tokenIn = (page: Document): string | undefined =>
  page.querySelector<HTMLMetaElement>('meta[name="token"]')?.content;

export class Remote {
  // The server sends `alive` every 2 s.
  static readonly patience = 7000;
  private token = tokenIn(document) ?? "";

  readonly carry = (path: string, options: RequestInit): Promise<Response> =>
    fetch(path, { ...options, headers: { ...options.headers, "X-Parallax-Token": this.token }, cache: "no-store" });

  // A server that was started again has another token: it is in its page.
  async renewToken(): Promise<void> {
    const text = await (await fetch(`/${location.search}`, { cache: "no-store" })).text();
    this.token = tokenIn(new DOMParser().parseFromString(text, "text/html")) ?? this.token;
  }
}
