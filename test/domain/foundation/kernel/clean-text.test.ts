import { describe, expect, it } from 'vitest';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';

describe('cleanText', () => {
  it('replaces NUL and lone halves by U+FFFD and nothing else', () => {
    expect(cleanText('a\0b\ud83dc\ude00d😀')).toBe('a\ufffdb\ufffdc\ufffdd😀');
  });
});
