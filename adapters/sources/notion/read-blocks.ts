import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { Patience } from '../shared/patience.ts';
import { blockText, type BlockText } from './block-text.ts';
import { BoundedText } from './bounded-text.ts';
import type { NotionClient } from './notion-client.ts';
import type { Block } from './wire.ts';

const maxRequests = 1_000;
/** Blocks that stand deeper are left out. */
const maxDepth = 30;
/** Their blocks belong to documents of their own. */
const ownDocuments = new Set(['child_page', 'child_database']);

/** What is held of a block, as the responses of all levels would be many. */
interface ReadBlock {
  id: string;
  said: BlockText;
  /** It follows the block before without an empty line. */
  joins: boolean;
  /** The blocks within it belong to the document. */
  isOpen: boolean;
}

/** The blocks within a page or a block, of which the first `at` are read. */
interface Level {
  id: string;
  blocks: readonly ReadBlock[];
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
      level.at += 1;
      made.add(block.said, { prefix: level.prefix, joins: block.joins });
      if (block.isOpen && levels.length <= maxDepth) {
        levels.push(levelOf(block.id, level.prefix + block.said.inner));
      }
    } else if (level.cursor === null) {
      levels.pop();
    } else if (requests >= maxRequests) {
      return 'too_large';
    } else {
      requests += 1;
      const isPage = levels.length === 1;
      const found = await patience.ask(signal, () => readLevel(client, level, isPage, signal));
      if (found === null && isPage) {
        return null;
      }
      if (!takeBlocks(made, level, found ?? [])) {
        return 'too_large';
      }
    }
  }
  return { text: made.toString() };
}

/** Reduces the next blocks of a level to their text, and counts it. @returns false: it is too long */
function takeBlocks(made: BoundedText, level: Level, blocks: readonly Block[]): boolean {
  const taken: ReadBlock[] = [];
  for (const block of blocks.filter(({ in_trash: isInTrash }) => isInTrash !== true)) {
    const { id, type } = block;
    level.row = level.kind === type ? level.row + 1 : 1;
    level.kind = type;
    const said = blockText(block, level.row);
    if (!made.reserve(said, level.prefix)) {
      return false;
    }
    const joins = type === 'table_row' && level.row > 1;
    taken.push({ id, said, joins, isOpen: block.has_children && !ownDocuments.has(type) });
  }
  level.blocks = taken;
  level.at = 0;
  return true;
}

/** Asks for the next page of blocks of a level. @returns null: there is none */
async function readLevel(
  client: NotionClient,
  level: Level,
  isPage: boolean,
  signal: AbortSignal,
): Promise<readonly Block[] | null> {
  const { id, cursor = null } = level;
  // The service answers 400 for blocks within a kind that its interface does not have, and 404 for those within a
  // copy whose original is not shared.
  const absent = cursor !== null ? [] : isPage ? [404] : [400, 404];
  const page = await client.children({ id, cursor, absent }, signal);
  if (page !== null && page.next !== null && page.next === cursor) {
    throw new SourceFailure('source_invalid', 'The blocks of a page have no end.');
  }
  level.cursor = page?.next ?? null;
  return page?.results ?? null;
}
