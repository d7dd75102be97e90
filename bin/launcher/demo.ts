import { join } from 'node:path';
import { readIfPresent, writePrivately } from './data-directory.ts';
import { LaunchError } from './errors.ts';

/** What the screen shows of the demo data. */
export interface Demo {
  spaceId: string;
  apiKey: string;
  /** Whether its documents were still being read when the seeding ended. */
  isReading: boolean;
  /** Documents that were not embedded by then. */
  unembedded: number;
}

function demoFile(folder: string): string {
  return join(folder, 'demo.json');
}

/** The demo key of an earlier start, to be reused by this one. */
export function knownDemoKey(folder: string): string | undefined {
  const known = parse(readIfPresent(demoFile(folder)) ?? '')?.['api_key'];
  return typeof known === 'string' ? known : undefined;
}

/**
 * Reads the output of the seeding and stores it readable by its owner only; the database holds no key in
 * clear.
 */
export function saveDemo(folder: string, printed: readonly string[]): Demo {
  const record = printed.map(parse).find((record) => record !== undefined && 'space_id' in record);
  // How far its documents are is soon untrue.
  const { documents_reading: reading, documents_unembedded: unembedded, ...seeded } = record ?? {};
  const spaceId = seeded['space_id'];
  const apiKey = seeded['api_key'] ?? knownDemoKey(folder);
  if (typeof spaceId !== 'string' || typeof apiKey !== 'string') {
    throw new LaunchError('Seeding the demo data printed no space and key.');
  }
  writePrivately(demoFile(folder), `${JSON.stringify({ ...seeded, api_key: apiKey })}\n`);
  return {
    spaceId,
    apiKey,
    isReading: reading === true,
    unembedded: typeof unembedded === 'number' ? unembedded : 0,
  };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined;
  } catch {
    return undefined;
  }
}
