import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { SourceReaders } from '#domain/knowledge/connectors/source.ts';

/** Whether text is stored as it is. */
export const isStorable = (text: string): boolean => cleanText(text) === text;

/** Readers that can be stored. Others are left out: changed, they could be somebody else. */
export function storableReaders(readers: SourceReaders): SourceReaders {
  if (readers === 'public') {
    return readers;
  }
  const { addresses, groups, domains } = readers;
  return {
    addresses: addresses.filter(isStorable),
    groups: groups.filter(isStorable),
    ...(domains !== undefined && { domains: domains.filter(isStorable) }),
  };
}
