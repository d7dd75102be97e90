import type { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { JsonApi } from '../shared/json-api.ts';
import type { People } from './people.ts';
import { ancestors, permissions, restriction, type Page } from './wire.ts';

interface Allowed {
  addresses: readonly string[];
  groups: readonly string[];
}

const maxPermissionPages = 200;
const maxAncestors = 250;
const nobody: Allowed = { addresses: [], groups: [] };

/**
 * Who may read a page: those with access to its space who no restriction of it or of what is above it leaves out: pages,
 * folders, whiteboards, databases and embeds.
 */
export class Readers {
  readonly #api: JsonApi;
  readonly #people: People;
  readonly #spaces = new Map<string, Allowed>();
  /** Null: without restrictions. */
  readonly #restrictions = new Map<string, Allowed | null>();
  /** By the id of the parent. */
  readonly #above = new Map<string, readonly string[]>();

  constructor(api: JsonApi, people: People) {
    this.#api = api;
    this.#people = people;
  }

  async of(page: Page, signal: AbortSignal): Promise<Allowed> {
    let allowed = await this.#space(page.spaceId, signal);
    const own = await this.#restriction(page.id, signal);
    const above = await this.#chain(page, signal);
    if (above === null) {
      return nobody;
    }
    for (const id of above) {
      allowed = await this.#both(allowed, await this.#inherited(id, signal), signal);
    }
    return this.#both(allowed, own, signal);
  }

  /** Restrictions of what is above are kept: many pages have the same. */
  async #inherited(id: string, signal: AbortSignal): Promise<Allowed | null> {
    const known = this.#restrictions.get(id);
    if (known !== undefined) {
      return known;
    }
    const found = await this.#restriction(id, signal);
    this.#restrictions.set(id, found);
    return found;
  }

  async #restriction(id: string, signal: AbortSignal): Promise<Allowed | null> {
    const path = `/rest/api/content/${encodeURIComponent(id)}/restriction/byOperation/read?expand=restrictions.user,restrictions.group&limit=200`;
    // Refused for some content of other people, such as what is below a draft.
    const found = await this.#api.seek(path, restriction, { signal, absent: [403, 404, 410] });
    if (found === null) {
      return nobody;
    }
    const { user, group } = found.value.restrictions;
    return user.results.length + group.results.length === 0
      ? null
      : {
          addresses: await this.#people.addresses(
            user.results.map(({ accountId }) => accountId),
            signal,
          ),
          groups: group.results.map(({ id: groupId }) => groupId),
        };
  }

  /** The ids of what is above a page, asked of the page: its parent may be a folder, which another path knows. Null: unknown. */
  async #chain({ id, parentId }: Page, signal: AbortSignal): Promise<readonly string[] | null> {
    if (parentId == null) {
      return [];
    }
    const known = this.#above.get(parentId);
    if (known !== undefined) {
      return known;
    }
    const path = `/api/v2/pages/${encodeURIComponent(id)}/ancestors?limit=${maxAncestors}`;
    const found = await this.#api.find(path, ancestors, { signal });
    if (found === null || found.hasMore || found.results.length >= maxAncestors) {
      return null;
    }
    const chain = [...new Set([parentId, ...found.results.map((each) => each.id)])];
    this.#above.set(parentId, chain);
    return chain;
  }

  async #space(id: string, signal: AbortSignal): Promise<Allowed> {
    const known = this.#spaces.get(id);
    if (known !== undefined) {
      return known;
    }
    const accounts: string[] = [];
    const groups: string[] = [];
    let cursor: string | null = null;
    for (let pages = 0; pages === 0 || cursor !== null; pages += 1) {
      if (pages >= maxPermissionPages) {
        throw new SourceFailure('source_invalid', 'The permissions of a space have no end.');
      }
      const at: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const path = `/api/v2/spaces/${encodeURIComponent(id)}/permissions?limit=250${at}`;
      const listed: z.output<typeof permissions> = await this.#api.get(path, permissions, { signal });
      for (const { principal, operation } of listed.results) {
        if (operation.key === 'read' && operation.targetType === 'space') {
          (principal.type === 'user' ? accounts : principal.type === 'group' ? groups : []).push(
            principal.id,
          );
        }
      }
      cursor = listed.next;
    }
    const allowed = { addresses: await this.#people.addresses(accounts, signal), groups };
    this.#spaces.set(id, allowed);
    return allowed;
  }

  /** Those who both allow. Groups that only one of them names are resolved into their members. */
  async #both(wide: Allowed, narrow: Allowed | null, signal: AbortSignal): Promise<Allowed> {
    if (narrow === null) {
      return wide;
    }
    const inWide = new Set(wide.groups);
    const shared = narrow.groups.filter((id) => inWide.has(id));
    const named = new Set(narrow.addresses);
    for (const id of narrow.groups.filter((each) => !inWide.has(each))) {
      for (const address of await this.#people.members(id, signal)) {
        named.add(address);
      }
    }
    const addresses = new Set(wide.addresses);
    if (named.size > 0) {
      for (const id of wide.groups) {
        for (const address of await this.#people.members(id, signal)) {
          addresses.add(address);
        }
      }
    }
    return { addresses: [...named].filter((address) => addresses.has(address)).sort(), groups: shared };
  }
}
