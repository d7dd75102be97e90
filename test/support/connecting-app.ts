/**
 * An application of the platform's own origin, as a page: it opens popups, completes what the channel brings for its own
 * server, and reads the state. `#server=…&key=…&space=…` says for whom, and `&begins` that it opens one by itself.
 */
export const connectingApp = `<!doctype html><html lang="en"><title>Application</title>
<button id="connect">Connect</button> <button id="look">Look</button>
<a id="link" target="_blank" rel="noopener" hidden>Open the sign-in</a>
<p id="said">nothing</p><p id="status"></p><p id="handle"></p>
<script>
const given = new URLSearchParams(location.hash.slice(1));
const server = given.get('server');
const at = (id) => document.getElementById(id);
const say = (text) => { at('said').textContent = text; console.info(text); };
let popup = null;

async function call(method, path, body) {
  const headers = { 'x-api-key': given.get('key'), 'content-type': 'application/json' };
  const answer = await fetch('/api/v1/' + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return { status: answer.status, ...(await answer.json()) };
}

new BroadcastChannel('mcp-auth').onmessage = async ({ data }) => {
  if (data.server_id !== server) return;
  if (data.handle === null) return say('ended: ' + data.error);
  at('handle').textContent = data.handle;
  const { status, error } = await call('POST', 'mcp-auth/complete', { handle: data.handle });
  say(status === 200 ? 'connected' : 'refused: ' + error.code);
};

async function begin() {
  say('begun');
  const done = encodeURIComponent(location.origin + '/api/v1/mcp-auth/done');
  const { data } = await call('POST', 'mcp-auth/' + server + '/initiate?redirect_uri=' + done);
  at('link').href = data.popup_url;
  popup = window.open(data.popup_url);
  at('link').hidden = popup !== null;
  say(popup === null ? 'blocked' : 'open');
}

async function look() {
  const { data } = await call('GET', 'spaces/' + given.get('space') + '/mcp-servers/' + server + '/connection');
  at('status').textContent = data.status + (popup === null ? '' : popup.closed ? ', popup closed' : ', popup open');
}

at('connect').onclick = begin;
at('look').onclick = look;
if (given.has('begins')) begin();
</script></html>`;
