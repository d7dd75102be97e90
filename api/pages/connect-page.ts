import { page } from './connection-pages.ts';

/**
 * Where the `elicitation` of a call leads in a browser. The page holds no credential and asks for none: a connection is
 * begun by its person's own client, and so this page can neither begin one nor say whether the server exists.
 */
export function connectPage(serverId: string): string {
  return page('Connect an account', [
    '<p>A tool needs your account at its server. Begin in the application in which you asked: it opens a window of this platform, which leads to the server’s own sign-in.</p>',
    `<p>At a terminal: <code>platform tool-servers connect ${serverId}</code></p>`,
    '<p>Then ask again. This page never asks for a password or a key.</p>',
  ]);
}
