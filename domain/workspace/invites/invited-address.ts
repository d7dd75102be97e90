import { raw } from '@mikro-orm/core';
import { foldCase, foldedInSql } from '#domain/identity/principals/fold-address.ts';

/** Invites to `address`, in whatever case. */
export function sentTo(address: string): object {
  return { [raw((alias) => foldedInSql(`${alias}.email`))]: foldCase(address) };
}
