import { closeSync, mkdirSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { shortenLogLine } from './log-line.ts';

/** Announces work that takes longer than two seconds. */
export interface Progress {
  during<T>(what: string, work: Promise<T>): Promise<T>;
  note(text: string): void;
}

export const silentProgress: Progress = { during: (_what, work) => work, note: () => {} };

export interface Output extends Progress {
  /** One line of a child: raw into its log file, shortened onto the screen unless it is quiet. */
  childLine(name: string, line: string, quiet?: boolean): void;
  /** The last raw lines of a child. */
  tail(name: string): readonly string[];
  /** Text for the screen only, in no file. */
  show(text: string): void;
  close(): void;
}

const TAIL_LINES = 20;
const NAME_WIDTH = 8;
const ROTATE_BYTES = 10 * 1024 * 1024;
const COLOURS = {
  start: 'bold',
  postgres: 'blue',
  temporal: 'magenta',
  gateway: 'green',
  worker: 'cyan',
} as const;

function colourOf(name: string): (typeof COLOURS)[keyof typeof COLOURS] | 'yellow' {
  return name in COLOURS ? COLOURS[name as keyof typeof COLOURS] : 'yellow';
}

export function createOutput(stream: NodeJS.WriteStream, logFolder: string): Output {
  const files = new Map<string, LogFile>();
  const tails = new Map<string, string[]>();
  const running = new Map<symbol, { what: string; since: number }>();
  const live = stream.isTTY;
  let drawn = false;

  function erase(): void {
    if (drawn) stream.write('\r\u001B[K');
    drawn = false;
  }

  function draw(): void {
    erase();
    const slow = [...running.values()].filter(({ since }) => Date.now() - since >= 2000);
    if (slow.length === 0) return;
    const text = slow.map(({ what, since }) => `${what} … ${elapsed(since)}`).join(' · ');
    stream.write(styleText('dim', text.slice(0, (stream.columns || 80) - 1), { stream }));
    drawn = true;
  }

  function print(name: string, text: string): void {
    erase();
    stream.write(`${styleText(colourOf(name), name.padEnd(NAME_WIDTH), { stream })} | ${text}\n`);
    if (live) draw();
  }

  async function during<T>(what: string, work: Promise<T>): Promise<T> {
    const key = Symbol(what);
    const since = Date.now();
    running.set(key, { what, since });
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
      if (live) draw();
      else if (ticks === 2 || ticks % 10 === 0) print('start', `${what} … ${elapsed(since)}`);
    }, 1000);
    try {
      return await work;
    } finally {
      clearInterval(timer);
      running.delete(key);
      erase();
      if (Date.now() - since >= 2000) print('start', `${what}: took ${elapsed(since)}`);
    }
  }

  function fileOf(name: string): LogFile {
    const known = files.get(name);
    if (known !== undefined && known.bytes <= ROTATE_BYTES) return known;
    if (known !== undefined) closeSync(known.descriptor);
    const file = openLog(logFolder, name);
    files.set(name, file);
    return file;
  }

  return {
    during,
    note: (text) => print('start', text),
    childLine(name, line, quiet = false) {
      const file = fileOf(name);
      file.bytes += writeSync(file.descriptor, `${line}\n`);
      const tail = tails.get(name) ?? [];
      tail.push(line);
      if (tail.length > TAIL_LINES) tail.shift();
      tails.set(name, tail);
      if (!quiet) print(name, shortenLogLine(line));
    },
    tail: (name) => (tails.get(name) ?? []).map(shortenLogLine),
    show(text) {
      erase();
      stream.write(`${text}\n`);
    },
    close() {
      erase();
      for (const { descriptor } of files.values()) closeSync(descriptor);
      files.clear();
    },
  };
}

function elapsed(since: number): string {
  return `${Math.round((Date.now() - since) / 1000)} s`;
}

interface LogFile {
  descriptor: number;
  bytes: number;
}

/** A file that has grown too large becomes `<name>.log.1`, in place of the one before. */
function openLog(folder: string, name: string): LogFile {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${name}.log`);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const full = size > ROTATE_BYTES;
  if (full) renameSync(path, `${path}.1`);
  return { descriptor: openSync(path, 'a', 0o600), bytes: full ? 0 : size };
}
