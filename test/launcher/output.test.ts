import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createOutput } from '../../bin/launcher/output.ts';

function recorder(isTTY: boolean): { stream: NodeJS.WriteStream; text: () => string } {
  let text = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  return {
    stream: Object.assign(stream, { isTTY, columns: 80 }) as unknown as NodeJS.WriteStream,
    text: () => text,
  };
}

test(
  'work that takes longer than two seconds is announced, shorter work is not',
  { timeout: 10_000 },
  async () => {
    for (const isTTY of [false, true]) {
      const { stream, text } = recorder(isTTY);
      const output = createOutput(stream, mkdtempSync(join(tmpdir(), 'output-')));
      await output.during('quick work', sleep(1200));
      expect(text()).not.toContain('quick work');
      await output.during('slow work', sleep(2400));
      expect(text()).toContain('slow work … 2 s');
      expect(text()).toContain('slow work: took 2 s');
      output.close();
    }
  },
);

test('the raw line goes into the file of its child, the short one onto the screen, and shown text into no file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'output-'));
  const { stream, text } = recorder(false);
  const output = createOutput(stream, folder);
  const raw = JSON.stringify({ level: 30, time: 0, msg: 'hello' });
  output.childLine('worker', raw);
  output.childLine('worker', 'kept quiet', true);
  output.show('the key');
  output.close();
  expect(text()).toBe('worker   | 00:00:00.000 info  hello\nthe key\n');
  expect(readFileSync(join(folder, 'worker.log'), 'utf8')).toBe(`${raw}\nkept quiet\n`);
  expect(output.tail('worker')).toEqual(['00:00:00.000 info  hello', 'kept quiet']);
});

test('a log file that grows beyond ten megabytes while it is written gives way to a new one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'output-'));
  const output = createOutput(recorder(false).stream, folder);
  const line = 'x'.repeat(1024 * 1024);
  for (let n = 0; n < 25; n += 1) output.childLine('worker', `${n} ${line}`, true);
  output.childLine('worker', 'the last', true);
  output.close();
  expect(readdirSync(folder).toSorted()).toEqual(['worker.log', 'worker.log.1']);
  for (const name of readdirSync(folder)) {
    expect(statSync(join(folder, name)).size, name).toBeLessThan(12 * 1024 * 1024);
  }
  expect(readFileSync(join(folder, 'worker.log'), 'utf8')).toMatch(/\nthe last\n$/);
});
