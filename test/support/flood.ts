import { Agent, request } from 'node:http';

/**
 * A process that asks for one address so many times a second, as a noisy caller does, and writes how it was answered
 * as a line of JSON when its input ends: `{"200": 12, "429": 388}`.
 */
const [url = '', apiKey = '', perSecond = '1'] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 32 });
const answers: Record<string, number> = {};
const startedAt = performance.now();
let sent = 0;

const ask = () => {
  const sending = request(url, { agent, headers: { 'X-API-Key': apiKey } }, (answer) => {
    answers[String(answer.statusCode)] = (answers[String(answer.statusCode)] ?? 0) + 1;
    answer.resume();
  });
  sending.on('error', () => undefined);
  sending.end();
};
const timer = setInterval(() => {
  const due = ((performance.now() - startedAt) * Number(perSecond)) / 1_000;
  for (; sent < due; sent += 1) ask();
}, 5);
process.stdin.on('end', () => {
  clearInterval(timer);
  process.stdout.write(`${JSON.stringify(answers)}\n`, () => process.exit());
});
process.stdin.resume();
