import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import { oneLine } from './rich-text.ts';
import type { Page } from './wire.ts';

const maxNameLength = 400;
/** Times are rounded down to the minute; the rest covers copies of the service that are behind. */
const settledAfterMs = 60_000 + 60_000;

/** Title and properties count: a formula or a rollup changes without an edit, and a title within a minute. */
export function versionOf(page: Page): string {
  const shown = JSON.stringify([titleOf(page), page.properties.facts]);
  return `${page.last_edited_time}/${sha256(shown).slice(0, 16)}`;
}

/**
 * The version of what was read of a page. An edit later within the minute of `last_edited_time` does not change that
 * time, so a page that is read before its minute has passed gets a version that no listing gives: the next run reads
 * it once more.
 * @param nowMs time of the reading, by the clock of the service
 */
export function readVersionOf(page: Page, nowMs: number): string {
  const isSettled = nowMs - Date.parse(page.last_edited_time) >= settledAfterMs;
  return isSettled ? versionOf(page) : `${versionOf(page)}/unsettled`;
}

export function toDocument(page: Page): ListedDocument {
  const { id, url } = page;
  return {
    ref: id,
    name: `${cleanText(titleOf(page).slice(0, maxNameLength))}.md`,
    version: versionOf(page),
    byteSize: null,
    mediaType: 'text/markdown',
    url: url != null && /^https?:\/\/\S{1,4000}$/.test(url) ? cleanText(url) : null,
  };
}

/** @param blocks the content of the page, as Markdown */
export function toMarkdown(page: Page, blocks: string): Buffer {
  const facts = page.properties.facts.map(([name, value]) => `- ${oneLine(name)}: ${value}`);
  const parts = [`# ${titleOf(page)}`, facts.join('\n'), blocks];
  return Buffer.from(cleanText(parts.filter((part) => part !== '').join('\n\n')));
}

function titleOf({ properties }: Page): string {
  return properties.title || 'Untitled';
}
