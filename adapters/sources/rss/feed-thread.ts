import { parseFeed } from 'feedsmith';
import { decodeText } from '../../knowledge/formats/decode-text.ts';
import { entriesOf, type ReadFeed } from './feed-entries.ts';

/** @returns null: not a feed, or a malformed one; errors of the library may quote it */
export default function readFeed(content: Uint8Array): ReadFeed | null {
  try {
    return entriesOf(parseFeed(decodeText(content)));
  } catch {
    return null;
  }
}
