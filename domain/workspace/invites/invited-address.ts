import { raw } from '@mikro-orm/core';
import { foldCase, foldedInSql } from '#domain/identity/principals/fold-address.ts';

/** Filter for invites to `address`, ignoring case. */
export function sentTo(address: string): object {
  return { [raw((alias) => foldedInSql(`${alias}.email`))]: foldCase(address) };
}
