import { connect, type Socket } from 'node:net';

/**
 * A process that requests one address so many times a second, as a noisy caller does, and writes the counts
 * of answers as a line of JSON when its input ends: `{"200": 12, "429": 388}`, with socket failures by the
 * names of the errors. A closed connection is opened again. It writes and reads its sockets directly, because
 * an HTTP client takes as much processor time as the server.
 */
const [address = '', apiKey = '', perSecond = '1'] = process.argv.slice(2);
const { hostname, port, host, pathname } = new URL(address);
const question = `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${apiKey}\r\n\r\n`;
const statusLine = /HTTP\/1\.1 (\d{3}) [^\r]*\r\n/g;
const answers: Record<string, number> = {};
const count = (answer: string) => void (answers[answer] = (answers[answer] ?? 0) + 1);
const sockets = Array.from({ length: 32 }, (_, at) => open(at));
const startedAt = performance.now();
let sent = 0;

function open(at: number): Socket {
  const socket = connect(Number(port), hostname).setEncoding('latin1').setNoDelay(true);
  let unread = '';
  socket.on('error', ({ code, name }: NodeJS.ErrnoException) => count(code ?? name));
  // With a pause: without a server it would only reconnect.
  socket.on('close', () => setTimeout(() => void (sockets[at] = open(at)), 100));
  socket.on('data', (chunk: string) => {
    unread += chunk;
    for (const [, status = ''] of unread.matchAll(statusLine)) count(status);
    const lineEnd = unread.lastIndexOf('\r\n');
    unread = (lineEnd < 0 ? unread : unread.slice(lineEnd + 2)).slice(-64);
  });
  return socket;
}

const timer = setInterval(() => {
  const due = ((performance.now() - startedAt) * Number(perSecond)) / 1_000;
  for (; sent < due; sent += 1) sockets[sent % sockets.length]!.write(question);
}, 5);
process.stdin.on('end', () => {
  clearInterval(timer);
  process.stdout.write(`${JSON.stringify(answers)}\n`, () => process.exit());
});
process.stdin.resume();
