import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { markdownSections } from '#adapters/knowledge/formats/markdown-sections.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { chunkText } from '#domain/knowledge/ingestion/chunk-text.ts';
import { ExtractionFailure, ExtractorBusy } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { attackStrings, expectLinear } from '../support/growth.ts';
import { sourceOf } from '../support/document-source.ts';
import { hostileDocuments } from '../support/hostile-documents.ts';
import { residentBytes } from '../support/process-memory.ts';
import { slowPage } from '../support/slow-page.ts';
import { countThreadMs } from '../support/thread-time.ts';

const never = new AbortController().signal;

describe('time grows with the text, whatever it is', () => {
  it.each(Object.entries(attackStrings))('%j is cut into sections and passages', (name, make) => {
    const cut = (text: string) => chunkText({ text, sections: markdownSections(text) });
    const asOne = (text: string) =>
      chunkText({
        text,
        sections: [{ heading: null, page: null, anchor: null, start: 0, end: text.length }],
      });
    expectLinear(`Sections of ${name}`, { make, work: cut, size: 40_000 });
    expectLinear(`Passages of ${name}`, { make, work: asOne, size: 40_000 });
  });

  it('a long title above many sections is not repeated in each of them', () => {
    const make = (size: number) => `# ${'a'.repeat(size)}\n${'## b\nText.\n'.repeat(size / 20)}`;
    expectLinear('A trail of headings', { make, work: markdownSections, size: 40_000 });
  });
});

describe('reading a document', () => {
  it.each<[DocumentMediaType, string]>([
    ['text/plain', `a${' '.repeat(50_000)}b`],
    ['text/markdown', `# ${'['.repeat(60_000)}`],
    ['text/html', `<p>a${' '.repeat(50_000)}b</p>`],
  ])('leaves the event loop free: %s', async (mediaType, content) => {
    const extractor = createTextExtractor();
    await extractor.extract(sourceOf({ tenantId: 'a', mediaType, content: 'First.' }), never);
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    await extractor.extract(sourceOf({ tenantId: 'a', mediaType, content }), never);
    delay.disable();
    expect(delay.max / 1e6).toBeLessThan(1_500);
  });

  it('that needs more memory than it may have ends with its thread, and the next one is read', async () => {
    const extractor = createTextExtractor({ heapMb: 24 });
    const read = (content: string) =>
      extractor.extract(sourceOf({ tenantId: 'a', mediaType: 'text/markdown', content }), never);
    await expect(read('- - - - x\n'.repeat(60_000))).rejects.toThrow(
      new ExtractionFailure('too_large').message,
    );
    expect((await read('# A\n\nText.')).chunks).toMatchObject([{ heading: 'A', text: 'Text.' }]);
  });

  it('of a tenant with many slow documents does not delay another tenant', async () => {
    const extractor = createTextExtractor();
    const stop = new AbortController();
    let slow = 3;
    const hostile = Array.from({ length: 3 }, () =>
      extractor
        .extract(sourceOf({ tenantId: 'hostile', mediaType: 'text/html', content: slowPage }), stop.signal)
        .catch(() => {})
        .finally(() => (slow -= 1)),
    );
    const { chunks } = await extractor.extract(
      sourceOf({ tenantId: 'other', mediaType: 'text/plain', content: 'Text.' }),
      never,
    );
    expect(chunks).toHaveLength(1);
    expect(slow).toBe(3);
    stop.abort(new Error('stopped'));
    await Promise.all(hostile);
  });

  it('is refused for now when enough documents of its tenant are pending', async () => {
    const extractor = createTextExtractor({ timeoutMs: 1_000, waitersPerKey: 0, waitMs: 50 });
    const read = () =>
      extractor.extract(sourceOf({ tenantId: 'a', mediaType: 'text/html', content: slowPage }), never);
    const all = await Promise.allSettled(Array.from({ length: 6 }, read));
    const reasons = all.map((each) => (each.status === 'rejected' ? each.reason : null));
    expect(reasons.some((reason) => reason instanceof ExtractorBusy)).toBe(true);
    expect(reasons.some((reason) => reason instanceof ExtractionFailure)).toBe(true);
  });
});

/** Processes that this one has started and that run now. */
function childPids(): number[] {
  const pids = readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);
  return pids.filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      return Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]) === process.pid;
    } catch {
      return false;
    }
  });
}

/** The most memory of a child, and the most processor time that this thread took between two turns of its loop. */
function watch(): () => { residentMb: number; busyMs: number } {
  let [residentMb, busyMs, turn] = [0, 0, countThreadMs()];
  const turns = setInterval(() => {
    busyMs = Math.max(busyMs, turn());
    turn = countThreadMs();
  }, 5);
  const looks = setInterval(() => {
    for (const pid of childPids()) {
      try {
        residentMb = Math.max(residentMb, (residentBytes(pid) || 0) / 1_048_576);
      } catch {
        // It has ended.
      }
    }
    // These looks are work of the test.
    turn = countThreadMs();
  }, 50);
  return () => {
    clearInterval(turns);
    clearInterval(looks);
    return { residentMb, busyMs };
  };
}

describe('a process of extraction', () => {
  it('that others kill is replaced, and its document read by another one', async () => {
    const extractor = createTextExtractor();
    const read = (mediaType: DocumentMediaType, content: string) =>
      extractor.extract(sourceOf({ tenantId: 'a', mediaType, content }), never);
    const before = new Set(childPids());
    await read('text/plain', 'First.');
    const reading = read('text/markdown', `# A\n\n${'Text. '.repeat(200_000)}`);
    const [pid] = childPids().filter((each) => !before.has(each));
    setTimeout(() => process.kill(pid!, 'SIGKILL'), 30);
    expect((await reading).chunks.length).toBeGreaterThan(1_000);
    expect(childPids()).not.toContain(pid);
  });

  it('has no environment, and no right to write files', async () => {
    const extractor = createTextExtractor();
    const before = new Set(childPids());
    await extractor.extract(sourceOf({ tenantId: 'a', mediaType: 'text/plain', content: 'A.' }), never);
    const [pid] = childPids().filter((each) => !before.has(each));
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    const names = environment.map((each) => each.split('=')[0]).filter((name) => name !== '');
    // The channel to the parent, what the shell sets, and how memory is allocated.
    const usual = [
      'NODE_CHANNEL_FD',
      'NODE_CHANNEL_SERIALIZATION_MODE',
      'PWD',
      'OLDPWD',
      'SHLVL',
      '_',
    ].concat(['MALLOC_ARENA_MAX', 'MALLOC_TRIM_THRESHOLD_']);
    expect(names.filter((name) => !usual.includes(name ?? ''))).toEqual([]);
    expect(readFileSync(`/proc/${pid}/limits`, 'utf8')).toMatch(/Max file size +0 +0/);
    expect(readFileSync(`/proc/${pid}/limits`, 'utf8')).toMatch(/Max data size +1879048192 /);
    expect(readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[18]).toBe('15');
  });

  it('ends with its parent, also while a document keeps it busy', async () => {
    const script = new URL('../support/extract-endlessly.ts', import.meta.url);
    const parent = spawn(process.execPath, [fileURLToPath(script)], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(isRunning(pid)).toBe(true);
    parent.kill('SIGKILL');
    await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
  });
});

function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

describe('a hostile document', () => {
  const impatient = { timeoutMs: 6_000, extractor: createTextExtractor({ timeoutMs: 6_000 }) };
  // What does not end by its time may take longer on a busy machine.
  const patient = { timeoutMs: 20_000, extractor: createTextExtractor({ timeoutMs: 20_000 }) };

  it.each(hostileDocuments)(
    'ends with a reason, within its limits: $name',
    async ({ make, declared = 'text/plain', ends }) => {
      const content = make();
      const { timeoutMs, extractor } = ends.includes('too_slow') ? impatient : patient;
      const read = (bytes: Uint8Array) =>
        extractor.extract(
          { tenantId: 'a', read: () => Promise.resolve({ mediaType: declared, content: bytes }) },
          never,
        );
      const measure = watch();
      const began = Date.now();
      const outcome = await read(content).then(
        ({ chunks }) => (chunks.length === 0 ? 'empty_document' : 'read'),
        (error: unknown) => (error instanceof ExtractionFailure ? error.code : error),
      );
      const { residentMb, busyMs } = measure();
      expect(ends).toContain(outcome);
      expect(Date.now() - began).toBeLessThan(timeoutMs + 10_000);
      expect(residentMb).toBeLessThan(700);
      expect(busyMs).toBeLessThan(100);
      expect((await read(Buffer.from('# A\n\nText.'))).chunks).toHaveLength(1);
    },
  );
});
