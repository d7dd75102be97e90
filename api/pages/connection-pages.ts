import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { textOf } from './popup-ends.ts';
import type { PopupQuestion } from '#domain/capabilities/connections/open-popup.ts';

const style =
  'body{font:16px/1.5 system-ui;max-width:34rem;margin:3rem auto;padding:0 1rem}button{font:inherit;margin:1rem 1rem 0 0;padding:.5rem 1rem;border:1px solid}code{overflow-wrap:anywhere}';

/** Hands the handle to the client's page, which is of the same origin; the handle leaves the address. */
const script = `const query = new URLSearchParams(location.search);
const handle = query.get('handle');
history.replaceState(null, '', location.pathname);
new BroadcastChannel('mcp-auth').postMessage({
  server_id: query.get('server_id'),
  connector_id: query.get('connector_id'),
  handle,
  error: query.get('error'),
});
if (handle !== null) {
  document.getElementById('handle').textContent = handle;
  document.getElementById('code').hidden = false;
}`;

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** No frame shows these pages, and nothing but their own style and script is loaded. */
export function asPage(reply: FastifyReply, { hasForm = false } = {}): FastifyReply {
  // Browsers apply form-action also to the redirects that follow, which lead to hosts of an authorization server's choice.
  const forms = hasForm ? '' : " form-action 'none';";
  return reply
    .type('text/html; charset=utf-8')
    .header(
      'Content-Security-Policy',
      `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; base-uri 'none';${forms} frame-ancestors 'none'`,
    )
    .header('X-Frame-Options', 'DENY');
}

/** Asks the person before the browser is sent to the authorization server. */
export function questionPage(
  question: PopupQuestion,
  { action, nonce }: { action: string; nonce: string },
): string {
  const { kind, name, host, issuerHost, authorizationHost, resource, owner, scopes, redirectHost } = question;
  const account =
    owner === 'personal'
      ? 'Your account there is used for what you ask, and for nobody else.'
      : 'The account is used for everybody in the space.';
  const wanted =
    scopes.length === 0
      ? '<p>No particular permissions are asked for.</p>'
      : `<p>Permissions that are asked for:</p><ul>${scopes.map((scope) => `<li><code>${escaped(scope)}</code></li>`).join('')}</ul>`;
  return page(`Connect ${name}`, [
    `<p>The ${kind} <b>${escaped(name)}</b> (<code>${escaped(host)}</code>) asks you to sign in at <code>${escaped(authorizationHost)}</code>${authorizationHost === issuerHost ? '' : `, for <code>${escaped(issuerHost)}</code>`}. ${account}</p>`,
    resource === null ? '' : `<p>Access is asked for to <code>${escaped(resource)}</code>.</p>`,
    wanted,
    `<p>Afterwards you come back to <code>${escaped(redirectHost)}</code>. Continue only if you have begun this yourself.</p>`,
    `<form method="post" action="${escaped(action)}">${hidden('nonce', nonce)}${hidden('csrf', question.csrf)}`,
    '<button name="decision" value="continue">Continue</button><button name="decision" value="cancel">Cancel</button></form>',
  ]);
}

/** Ends the popup of a client without a page of its own. The connection itself is made by that client's next request. */
export function donePage(error: string | null): string {
  return page(error === null ? 'Signed in' : 'Not connected', [
    error === null
      ? '<p>The application that you came from finishes the connection now, and shows whether it is made. You can close this window.</p>'
      : `<p>${textOf(error)} Nothing was connected. You can close this window and begin again.</p>`,
    '<p id="code" hidden>If a terminal waits for it, enter this there within a minute: <code id="handle"></code></p>',
    `<script>${script}</script>`,
  ]);
}

export function page(title: string, body: string[]): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title><style>${style}</style></head><body><h1>${escaped(title)}</h1>${body.join('')}</body></html>`;
}

const hidden = (name: string, value: string) =>
  `<input type="hidden" name="${name}" value="${escaped(value)}">`;

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
