import { readMultistatus, type DavResponse } from './multistatus.ts';

/** Reads a long answer, in a thread; null: it is malformed. */
export default function read({ xml }: { xml: Uint8Array }): DavResponse[] | null {
  try {
    return readMultistatus(new TextDecoder().decode(xml));
  } catch {
    return null;
  }
}
