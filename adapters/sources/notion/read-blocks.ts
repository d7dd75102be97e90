import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { blockText } from './block-text.ts';
import { BoundedText } from './bounded-text.ts';
import type { NotionClient } from './notion-client.ts';
import type { Patience } from './patience.ts';
import type { Block } from './wire.ts';

const maxRequests = 1_000;
/** Blocks that stand deeper are left out. */
const maxDepth = 30;
/** Their blocks belong to documents of their own. */
const ownDocuments = new Set(['child_page', 'child_database']);

/** The blocks within a page or a block, of which the first `at` are read. */
interface Level {
  id: string;
  blocks: readonly Block[];
  at: number;
  /** Of the next page of blocks; undefined: the first page was not asked for. */
  cursor: string | null | undefined;
  /** Of every line. */
  prefix: string;
  /** Blocks in a row of the kind of the last one. */
  kind: string;
  row: number;
}

function levelOf(id: string, prefix: string): Level {
  return { id, prefix, blocks: [], at: 0, cursor: undefined, kind: '', row: 0 };
}

/**
 * All blocks of a page as Markdown, one after the other: depth, requests and length are bounded here, whatever the
 * service says to be within what.
 * @returns null: the page is not there
 */
export async function readBlocks(
  client: NotionClient,
  pageId: string,
  { maxLength, patience }: { maxLength: number; patience: Patience },
  signal: AbortSignal,
): Promise<{ text: string } | 'too_large' | null> {
  const made = new BoundedText(maxLength);
  const levels = [levelOf(pageId, '')];
  let requests = 0;
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const block = level.blocks[level.at];
    if (block !== undefined) {
      const inner = takeBlock(made, level, block);
      if (inner === null) {
        return 'too_large';
      }
      const isRead = block.has_children && block.in_trash !== true && !ownDocuments.has(block.type);
      if (isRead && levels.length <= maxDepth) {
        levels.push(levelOf(block.id, inner));
      }
    } else if (level.cursor === null) {
      levels.pop();
    } else if (requests >= maxRequests) {
      return 'too_large';
    } else {
      requests += 1;
      const isPage = levels.length === 1;
      const isThere = await patience.ask(signal, () => readLevel(client, level, isPage, signal));
      if (!isThere && isPage) {
        return null;
      }
    }
  }
  return { text: made.toString() };
}

/** Adds the next block of a level. @returns the prefix of the blocks within it; null: it is too long */
function takeBlock(made: BoundedText, level: Level, block: Block): string | null {
  level.at += 1;
  if (block.in_trash === true) {
    return level.prefix;
  }
  level.row = level.kind === block.type ? level.row + 1 : 1;
  level.kind = block.type;
  const said = blockText(block, level.row);
  const joins = block.type === 'table_row' && level.row > 1;
  return made.add(said, { prefix: level.prefix, joins }) ? level.prefix + said.inner : null;
}

/** Reads the next page of blocks of a level. @returns whether there is one */
async function readLevel(
  client: NotionClient,
  level: Level,
  isPage: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const { id, cursor = null } = level;
  // The service answers 400 for blocks within a kind that its interface does not have, and 404 for those within a
  // copy whose original is not shared.
  const absent = cursor !== null ? [] : isPage ? [404] : [400, 404];
  const page = await client.children({ id, cursor, absent }, signal);
  if (page !== null && page.next !== null && page.next === cursor) {
    throw new SourceFailure('source_invalid', 'The blocks of a page have no end.');
  }
  level.blocks = page?.results ?? [];
  level.at = 0;
  level.cursor = page?.next ?? null;
  return page !== null;
}
