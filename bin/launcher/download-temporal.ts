import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Progress } from './output.ts';
import { TEMPORAL_VERSION } from './temporal-version.ts';

export interface ObtainTemporal {
  /** Where the program goes. */
  target: string;
  env: NodeJS.ProcessEnv;
  progress: Progress;
  signal?: AbortSignal;
}

const CONNECT_TIMEOUT_MS = 5000;
const DOWNLOAD_TIMEOUT_MS = 5 * 60_000;
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };

/** The official release; TEMPORAL_DOWNLOAD_URL names a mirror. */
export async function downloadTemporal({ target, env, progress, signal }: ObtainTemporal): Promise<void> {
  const arch = ARCHITECTURES[process.arch];
  if (!arch || !['linux', 'darwin'].includes(process.platform))
    throw new Error('there is no archive for this system');
  const base = env['TEMPORAL_DOWNLOAD_URL'] || 'https://temporal.download';
  const url = new URL(`/cli/archive/v${TEMPORAL_VERSION}?platform=${process.platform}&arch=${arch}`, base);
  const program = await progress.during('downloading the Temporal server', fetchProgram(url, signal));
  writeFileSync(target, program, { mode: 0o755 });
}

async function fetchProgram(url: URL, signal: AbortSignal | undefined): Promise<Buffer> {
  const unreachable = new AbortController();
  const signals = [unreachable.signal, AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS), ...(signal ? [signal] : [])];
  const timer = setTimeout(() => unreachable.abort(), CONNECT_TIMEOUT_MS);
  const response = await fetch(url, { signal: AbortSignal.any(signals) })
    .catch((error: unknown) => {
      throw new Error(`${url.host} cannot be reached`, { cause: error });
    })
    .finally(() => clearTimeout(timer));
  if (!response.ok) throw new Error(`${url.host} answered ${response.status}`);
  const archive = await promisify(gunzip)(await response.arrayBuffer());
  const program = extractFile(archive, 'temporal');
  if (!program) throw new Error('the archive holds no program of that name');
  return program;
}

/** One file of a tar archive: blocks of 512 bytes, a header with name (0–99) and octal size (124–135) before each file. */
export function extractFile(archive: Buffer, name: string): Buffer | undefined {
  for (let offset = 0; offset + 512 <= archive.length;) {
    const path = text(archive, offset, 100);
    const size = Number.parseInt(text(archive, offset + 124, 12), 8) || 0;
    const start = offset + 512;
    if (path === name || path.endsWith(`/${name}`)) return archive.subarray(start, start + size);
    offset = start + Math.ceil(size / 512) * 512;
  }
  return undefined;
}

function text(archive: Buffer, start: number, length: number): string {
  return archive
    .toString('latin1', start, start + length)
    .replace(/\0.*$/s, '')
    .trim();
}
