import { expect, test } from 'vitest';
import { shortenLogLine } from '../../bin/launcher/log-line.ts';

test('a JSON log line becomes time, level, text and its plain fields', () => {
  const time = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  const line = {
    level: 50,
    time,
    pid: 1,
    hostname: 'h',
    msg: 'request failed',
    reqId: 'r1',
    err: { message: 'no route', stack: 's' },
  };
  expect(shortenLogLine(JSON.stringify(line))).toBe('03:04:05.678 error request failed reqId=r1 (no route)');
  const request = { level: 30, time, msg: 'incoming', req: { method: 'GET', url: '/readyz', headers: {} } };
  expect(shortenLogLine(JSON.stringify(request))).toBe('03:04:05.678 info  incoming GET /readyz');
});

test('any other line stays as it is, up to 500 characters', () => {
  expect(shortenLogLine('{not json')).toBe('{not json');
  expect(shortenLogLine('{"level":"info"}')).toBe('{"level":"info"}');
  expect(shortenLogLine('x'.repeat(501))).toBe(`${'x'.repeat(500)}…`);
});
