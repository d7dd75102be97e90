import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';
import type { Passage } from './passage.ts';

/** Passages as text for a prompt. */
export interface PromptContext {
  text: string;
  /** Estimated. */
  tokens: number;
  /** Whether passages were left out or shortened. */
  truncated: boolean;
}

/**
 * Numbers the passages in their order, each below a line with its origin, within `maxTokens`. Passages are whole; only
 * the first is shortened, when it alone does not fit.
 */
export function promptContext(passages: readonly Passage[], maxTokens: number): PromptContext {
  const blocks = passages.map(blockOf);
  const whole = blocks.slice(0, countFitting(blocks, maxTokens));
  const text = shorten(whole.length === 0 ? (blocks[0] ?? '') : whole.join(separator), maxTokens);
  return { text, tokens: estimateTokens(text), truncated: text.length < blocks.join(separator).length };
}

const separator = '\n\n';

function blockOf({ filename, heading, page, text }: Passage, index: number): string {
  const origin = heading === null ? filename : `${filename} › ${heading}`;
  const place = page === null ? '' : `, page ${page}`;
  return `[${index + 1}] ${onOneLine(origin)}${place}\n${text.trim()}`;
}

/** A name must not look like another passage. */
function onOneLine(text: string): string {
  return text.split(/\s/u).join(' ');
}

function countFitting(blocks: readonly string[], maxTokens: number): number {
  let tokens = 0;
  const end = blocks.findIndex((block) => {
    tokens += estimateTokens(block) + 1;
    return tokens > maxTokens;
  });
  return end === -1 ? blocks.length : end;
}

/** Ends at a space where there is one. */
function shorten(text: string, maxTokens: number): string {
  let kept = text;
  for (let tokens = estimateTokens(kept); tokens > maxTokens; tokens = estimateTokens(kept)) {
    const cut = kept.slice(0, Math.floor(kept.length * Math.min(0.95, maxTokens / tokens)));
    const end = cut.lastIndexOf(' ');
    kept = (end > cut.length / 2 ? cut.slice(0, end) : cut.replace(/[\ud800-\udbff]$/, '')).trimEnd();
  }
  return kept;
}
