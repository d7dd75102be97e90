import { foldCase } from '#domain/identity/principals/fold-address.ts';
import type { SourceGroup } from '#domain/knowledge/connectors/source.ts';
import type { JsonApi } from '../shared/json-api.ts';
import { groups, members, users } from './wire.ts';

const usersAtOnce = 100;
const membersAtOnce = 200;
const groupsAtOnce = 20;
const maxMembers = 20_000;

/** Addresses of accounts and members of groups, read once for each opened source. */
export class People {
  readonly #api: JsonApi;
  /** Null: the account shows no address. */
  readonly #addresses = new Map<string, string | null>();
  readonly #members = new Map<string, Promise<readonly string[]>>();

  constructor(api: JsonApi) {
    this.#api = api;
  }

  async addresses(accountIds: readonly string[], signal: AbortSignal): Promise<string[]> {
    const unknown = [...new Set(accountIds)].filter((id) => !this.#addresses.has(id));
    for (let at = 0; at < unknown.length; at += usersAtOnce) {
      const asked = unknown.slice(at, at + usersAtOnce);
      const body = { accountIds: asked };
      const { results } = await this.#api.get('/api/v2/users-bulk', users, { signal, body });
      const found = new Map(results.map(({ accountId, email }) => [accountId, addressOf(email)]));
      for (const id of asked) {
        this.#addresses.set(id, found.get(id) ?? null);
      }
    }
    return accountIds.flatMap((id) => this.#addresses.get(id) ?? []);
  }

  members(groupId: string, signal: AbortSignal): Promise<readonly string[]> {
    const known = this.#members.get(groupId) ?? this.#loadMembers(groupId, signal);
    this.#members.set(groupId, known);
    // A failed request is not remembered.
    known.catch(() => this.#members.delete(groupId));
    return known;
  }

  /** A few groups of the site at a time. */
  async groups(
    cursor: string | null,
    signal: AbortSignal,
  ): Promise<{ groups: SourceGroup[]; next: string | null }> {
    const start = Number(cursor ?? 0);
    const path = `/rest/api/group?start=${start}&limit=${groupsAtOnce}`;
    const { results, hasMore } = await this.#api.get(path, groups, { signal });
    const found: SourceGroup[] = [];
    for (const { id } of results) {
      found.push({ id, members: await this.members(id, signal) });
    }
    // Pages may be shorter than asked for.
    const ends = results.length === 0 || (results.length < groupsAtOnce && !hasMore);
    return { groups: found, next: ends ? null : String(start + results.length) };
  }

  async #loadMembers(groupId: string, signal: AbortSignal): Promise<readonly string[]> {
    const found: string[] = [];
    for (let start = 0, more = true; more && start < maxMembers;) {
      const path = `/rest/api/group/${encodeURIComponent(groupId)}/membersByGroupId?start=${start}&limit=${membersAtOnce}`;
      const listed = await this.#api.find(path, members, { signal });
      found.push(...(listed?.results ?? []).flatMap(({ email }) => addressOf(email) ?? []));
      const read = listed?.results.length ?? 0;
      more = read === membersAtOnce || (read > 0 && listed?.hasMore === true);
      start += read;
    }
    return found;
  }
}

function addressOf(email: string | null | undefined): string | null {
  return email == null || email === '' || email.length > 320 ? null : foldCase(email);
}
