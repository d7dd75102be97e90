import { openAsBlob, statSync } from 'node:fs';
import { basename } from 'node:path';
import { z } from 'zod';
import { ask, gatewayOf, reach, type Connection } from './connect.ts';

/** A file may have 100 MiB. */
const patienceMs = 600_000;

const answer = z.union([
  z.object({ data: z.looseObject({ id: z.string(), status: z.string() }) }),
  z.object({ error: z.object({ code: z.string(), message: z.string(), request_id: z.string() }) }),
]);

/**
 * Sends a file byte for byte: a call of a procedure holds text alone.
 * @param mediaType omitted: the content and the name decide
 */
export async function uploadFile(
  connection: Connection,
  place: { space: string; collection: string },
  { file, mediaType }: { file: string; mediaType?: string | undefined },
): Promise<{ data: { id: string; status: string } }> {
  const { base, headers } = gatewayOf(connection);
  const [space, collection] = [place.space, place.collection].map(encodeURIComponent);
  const path = `/api/v1/spaces/${space}/collections/${collection}/documents/content`;
  const target = new URL(path, base);
  target.searchParams.set('filename', basename(file));
  const body = await opened(file, mediaType);
  const answered = await reach(base, patienceMs, () =>
    ask(target, { method: 'POST', headers, body }, patienceMs),
  );
  const read = answer.safeParse(await answered.json().catch(() => null));
  if (!read.success) {
    throw new Error('What answered is no gateway: is --url or PLATFORM_URL right?');
  }
  if ('error' in read.data) {
    const { code, message, request_id: requestId } = read.data.error;
    throw new Error(`${code}: ${message} [${requestId}]`);
  }
  return read.data;
}

async function opened(file: string, type = 'application/octet-stream'): Promise<Blob> {
  try {
    if (statSync(file).isFile()) return await openAsBlob(file, { type });
  } catch {
    // Said below, as of a folder.
  }
  throw new Error(`The file ${file} cannot be read.`);
}
