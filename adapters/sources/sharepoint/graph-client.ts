import type { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { SourceAccess } from '../provider.ts';
import { JsonApi } from '../shared/json-api.ts';
import { laterPage } from '../shared/later-page.ts';
import { withoutSlashes } from '../shared/web-url.ts';
import { AccessDenied, graphFailure } from './failure.ts';
import { pathBelow } from './links.ts';
import type { SharepointScope } from './scope.ts';
import { pageTimes, type PageTimes } from './page-times.ts';
import * as wire from './wire.ts';

const pageSize = 200;
const maxDrivePages = 20;
/** Leaves out the folders above a changed item; documented as a header, and sent by other clients as a preference. */
const deltaHeaders = { deltaexcludeparent: 'true', prefer: 'deltaExcludeParent' };

export interface DeltaPage {
  items: wire.DriveItem[];
  /** Where the listing goes on, or, on its last page, where changes begin; below the address of the interface. */
  link: string;
  isLast: boolean;
  times: PageTimes;
}

/** The requests to Microsoft Graph, version 1.0. */
export class GraphClient {
  readonly #api: JsonApi;
  readonly #scope: SharepointScope;

  constructor(scope: SharepointScope, access: SourceAccess) {
    this.#scope = scope;
    this.#api = new JsonApi(access, { base: scope.api_url, failure: graphFailure });
  }

  async siteId(address: string, signal: AbortSignal): Promise<string> {
    const { hostname, pathname } = new URL(address);
    // A colon ends a path in addresses of Microsoft Graph.
    const path = withoutSlashes(pathname).replaceAll(':', '%3A');
    const place = path === '' ? hostname : `${hostname}:${path}`;
    return (await this.#api.get(`/sites/${place}?$select=id`, wire.site, { signal })).id;
  }

  async drives(siteId: string, signal: AbortSignal): Promise<wire.Drive[]> {
    const found: wire.Drive[] = [];
    let path: string | null = `/sites/${siteId}/drives?$select=${wire.driveFields}`;
    for (let pages = 0; path !== null; pages += 1) {
      if (pages >= maxDrivePages) {
        throw new SourceFailure('source_invalid', 'The libraries of the site have no end.');
      }
      const page: wire.Drives = await this.#api.get(path, wire.drives, { signal });
      const next = page['@odata.nextLink'];
      found.push(...page.value);
      path = next === undefined ? null : pathBelow(this.#scope.api_url, next);
    }
    return found;
  }

  drive(id: string, signal: AbortSignal): Promise<wire.Drive> {
    return this.#api.get(`/drives/${id}?$select=${wire.driveFields}`, wire.drive, { signal });
  }

  /** Null: it is not there, or not shown to this credential. The id of a deleted drive counts as malformed (HTTP 400). */
  driveHome(id: string, signal: AbortSignal): Promise<wire.DriveHome | null> {
    return this.#shown(`/drives/${id}?$select=id,sharePointIds`, wire.driveHome, signal, [400, 404, 410]);
  }

  /** @param link of the page; null: everything is listed from its beginning */
  async delta(driveId: string, link: string | null, signal: AbortSignal): Promise<DeltaPage> {
    const path = link ?? `/drives/${driveId}/root/delta?$select=${wire.itemFields}&$top=${pageSize}`;
    const asked = this.#api.ask(path, wire.delta, { signal, headers: deltaHeaders });
    const { value, headers } = await laterPage(link !== null, asked);
    const next = value['@odata.nextLink'];
    const following = next ?? value['@odata.deltaLink'];
    if (following === undefined) {
      throw new SourceFailure('source_invalid', 'Microsoft Graph does not say where changes go on.');
    }
    return {
      items: value.value,
      link: pathBelow(this.#scope.api_url, following),
      isLast: next === undefined,
      times: pageTimes(headers),
    };
  }

  /** Null: it is not there, or not shown to this credential, which `confirm` tells from a refusal of everything. */
  item(driveId: string, id: string, signal: AbortSignal): Promise<wire.DriveItem | null> {
    return this.#shown(`/drives/${driveId}/items/${id}?$select=${wire.itemFields}`, wire.item, signal);
  }

  /** Null also for what this credential may not see, which is no reason to renew it. */
  async #shown<T>(
    path: string,
    schema: z.ZodType<T>,
    signal: AbortSignal,
    absent: readonly number[] = [404, 410],
  ): Promise<T | null> {
    try {
      return (await this.#api.seek(path, schema, { signal, absent }))?.value ?? null;
    } catch (error) {
      if (error instanceof AccessDenied) {
        return null;
      }
      throw error;
    }
  }

  /**
   * Asked before an item that is not shown counts as gone.
   * @throws SourceFailure where the drive is not shown either
   */
  async confirm(driveId: string, signal: AbortSignal): Promise<void> {
    await this.#api.get(`/drives/${driveId}/root?$select=id`, wire.root, { signal });
  }
}

/** It redirects to the content. */
export function contentAddress(apiUrl: string, driveId: string, id: string): string {
  return `${withoutSlashes(apiUrl)}/drives/${driveId}/items/${id}/content`;
}
