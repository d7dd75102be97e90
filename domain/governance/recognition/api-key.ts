import type { Finding } from './pii-kinds.ts';
import { findPrivateKeys } from './private-key.ts';

// A name or punctuation may precede or follow a key: `token_…`, `_…_`, `…-old`.
const before = '(?<![A-Za-z0-9])';
const after = '(?![A-Za-z0-9])';
/** Prefixes of vendors' keys, made for scanners. */
const shapes = [
  'ak\\.[0-9a-z]{16}\\.[0-9A-Za-z]{49}',
  // Words in URLs have hyphens, too: `en-sk-…`.
  '(?<![A-Za-z0-9]-)sk-[A-Za-z0-9_-]{20,300}',
  '(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,200}',
  'whsec_[A-Za-z0-9+/=]{24,100}',
  '(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}',
  'gh[pousr]_[A-Za-z0-9]{36,255}',
  'github_pat_[A-Za-z0-9_]{22,255}',
  'glpat-[A-Za-z0-9_-]{20,100}',
  'xox[abeoprs]-[A-Za-z0-9-]{10,250}',
  'xapp-\\d-[A-Za-z0-9-]{10,250}',
  'AIza[0-9A-Za-z_-]{35}',
  'ya29\\.[0-9A-Za-z_-]{20,500}',
  'npm_[A-Za-z0-9]{36}',
  'pypi-[A-Za-z0-9_-]{50,500}',
  'hf_[A-Za-z0-9]{30,60}',
  'SG\\.[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,64}',
  'dop_v1_[a-f0-9]{64}',
  'key-[0-9a-f]{32}',
];
const key = new RegExp(`${before}(?:${shapes.join('|')})${after}`, 'g');
/**
 * Found by the beginning of its second part; the first one, `header`, is to its left. Dots separate the parts, so
 * that each is read a few times only, however often a token seems to begin in it.
 */
const jwt = new RegExp(
  `[.]eyJ(?<=${before}(?<header>eyJ[A-Za-z0-9_-]{8,4000})[.]eyJ)[A-Za-z0-9_-]{8,4000}[.][A-Za-z0-9_-]{8,2000}${after}`,
  'g',
);

/** Keys and tokens by the formats of their issuers, and private keys in PEM. They may overlap. */
export function findApiKeys(text: string): Finding[] {
  return [
    ...[...text.matchAll(key), ...text.matchAll(jwt)].map(({ index, 0: found, groups }): Finding => {
      const start = index - (groups?.['header']?.length ?? 0);
      return { kind: 'api_key', start, end: index + found.length };
    }),
    ...findPrivateKeys(text),
  ];
}
