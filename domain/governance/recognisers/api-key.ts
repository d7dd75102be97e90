import type { Finding } from '../pii-kinds.ts';

// A name or a mark may stand before a key and behind it: `token_…`, `_…_`, `…-old`.
const before = '(?<![A-Za-z0-9])';
const after = '(?![A-Za-z0-9])';
/** What vendors begin their keys with, so that scanners find them. */
const shapes = [
  'ak\\.[0-9a-z]{16}\\.[0-9A-Za-z]{49}',
  // Words of an address have hyphens, too: `en-sk-…`.
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
  'eyJ[A-Za-z0-9_-]{8,4000}\\.eyJ[A-Za-z0-9_-]{8,4000}\\.[A-Za-z0-9_-]{8,2000}',
];
const key = new RegExp(`${before}(?:${shapes.join('|')})${after}`, 'g');
const privateKey =
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s:,-]{16,8000}?-----END [A-Z ]{0,30}PRIVATE KEY-----/g;

/** Keys and tokens by the shapes of those that issue them, and private keys in PEM. */
export function findApiKeys(text: string): Finding[] {
  const blocks = text.includes('PRIVATE KEY-----') ? [...text.matchAll(privateKey)] : [];
  return [...text.matchAll(key), ...blocks].map((match) => ({
    kind: 'api_key',
    start: match.index,
    end: match.index + match[0].length,
  }));
}
