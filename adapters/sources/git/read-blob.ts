import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { LoopTurns } from '#domain/foundation/kernel/loop-turns.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { ObjectFormat } from './git-client.ts';
import {
  maxEntryHeadBytes,
  packCount,
  packHeaderBytes,
  readPackEntry,
  type PackEntry,
} from './pack-entry.ts';

const inflated = promisify(inflate);
const hashPart = 1_048_576;

/** What a pack of one object must be. */
export interface WantedBlob {
  id: string;
  format: ObjectFormat;
  maxBytes: number;
}

/**
 * The file in a pack that holds nothing else.
 * @returns null when it is longer than `maxBytes`; it is not read then
 */
export async function readBlob(
  pack: AsyncIterable<Uint8Array>,
  { id, format, maxBytes }: WantedBlob,
): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let length = 0;
  let entry: PackEntry | null = null;
  for await (const part of pack) {
    parts.push(Buffer.from(part));
    length += part.byteLength;
    if (entry === null && length >= packHeaderBytes + maxEntryHeadBytes) {
      entry = blobEntry(Buffer.concat(parts), format);
      if (entry.size > maxBytes) return null;
    }
    if (entry !== null && length > entry.size * 1.001 + 65_536) throw malformed();
  }
  const whole = Buffer.concat(parts, length);
  entry ??= blobEntry(whole, format);
  if (entry.size > maxBytes) return null;
  const content = await inflated(whole.subarray(entry.dataAt), {
    maxOutputLength: Math.max(entry.size, 1),
  }).catch(() => null);
  if (content?.byteLength !== entry.size || (await idOf(content, format)) !== id) {
    throw malformed();
  }
  return content;
}

function blobEntry(pack: Buffer, format: ObjectFormat): PackEntry {
  const entry = packCount(pack) === 1 ? readPackEntry(pack, packHeaderBytes, format.idBytes) : null;
  if (entry?.type !== 'blob') throw malformed();
  return entry;
}

async function idOf(content: Buffer, format: ObjectFormat): Promise<string> {
  const turns = new LoopTurns();
  const hash = createHash(format.name).update(`blob ${content.byteLength}\0`);
  for (let at = 0; at < content.byteLength; at += hashPart) {
    hash.update(content.subarray(at, at + hashPart));
    await turns.pass();
  }
  return hash.digest('hex');
}

function malformed(): SourceFailure {
  return new SourceFailure('source_invalid', 'A file of the repository is malformed.');
}
