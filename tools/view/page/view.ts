// SPDX-License-Identifier: Apache-2.0
// The page of 'parallax view': its server is the one that sent it.
import { Connection } from "./connection";
import { Pages, showProblem } from "./page";
import { Server } from "./protocol";
import { Remote } from "./remote";
import { receive } from "./state";

try {
  const remote = new Remote();
  const server = new Server(remote.carry, Remote.patience);
  // First of all: the server answers while the page is made.
  void new Connection(
    server,
    remote,
    () => pages.view.firstShown,
    (found) => {
      pages.begin(found);
      pages.announce();
    },
    () => pages.resend(),
    receive,
  ).keep();
  const pages = new Pages(server);
  // For tests and for curious engineers.
  Object.assign(window, { parallax: pages });
} catch (error) {
  showProblem(error);
}
