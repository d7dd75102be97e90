import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Answer, Call } from './gateway.ts';
import { addOperator } from './operators.ts';
import type { Place } from './places.ts';

export interface Guest {
  principalId: string;
  apiKey: string;
  email: string;
}

/** Creates people, roles and their resources, as a place's owner and through the API. */
export class AdminMaker {
  readonly #send: (call: Call) => Promise<Answer>;
  readonly #unitOfWork: () => UnitOfWork;
  /** An operator of the platform for each place. */
  readonly #operators = new Map<string, Promise<string>>();

  constructor(send: (call: Call) => Promise<Answer>, unitOfWork: () => UnitOfWork) {
    this.#send = send;
    this.#unitOfWork = unitOfWork;
  }

  operatorOf({ spaceId }: Place): Promise<string> {
    const known =
      this.#operators.get(spaceId) ?? addOperator(this.#unitOfWork()).then(({ apiKey }) => apiKey);
    this.#operators.set(spaceId, known);
    return known;
  }

  async send(call: Call): Promise<Answer> {
    return this.#send(call);
  }

  /** One more tenant, by an operator. */
  async openTenant(): Promise<Answer> {
    const { apiKey } = await addOperator(this.#unitOfWork());
    const body = { slug: `t-${newId()}`, name: 'Tenant' };
    return this.#send({ method: 'POST', path: '/v1/admin/tenants', apiKey, body });
  }

  /** A role that permits reading collections. */
  async role(place: Place): Promise<string> {
    const key = `role_${newId().slice(-12)}`;
    const { id } = await this.#done(place, 'POST', '/admin/roles', { key, name: key });
    await this.#done(place, 'PUT', `/admin/roles/${id}/permissions`, { permissions: ['collections.read'] });
    return id!;
  }

  async principal(place: Place, email?: string): Promise<string> {
    const body = { type: 'user', name: 'Member', ...(email && { email }) };
    return (await this.#done(place, 'POST', '/admin/principals', body)).id!;
  }

  async assigned(place: Place): Promise<{ principalId: string; roleId: string }> {
    const [principalId, roleId] = [await this.principal(place), await this.role(place)];
    await this.#done(place, 'PUT', `/admin/principals/${principalId}/roles/${roleId}`);
    return { principalId, roleId };
  }

  async apiKey(place: Place, principalId?: string): Promise<{ id: string; token: string }> {
    const body = { name: 'crane', ...(principalId && { principal_id: principalId }) };
    const made = await this.#done(place, 'POST', '/admin/api-keys', body);
    return { id: made.id!, token: made.api_key! };
  }

  async member(place: Place): Promise<{ id: string; principalId: string }> {
    const principalId = await this.principal(place);
    const path = `/spaces/${place.spaceId}/members`;
    return { principalId, id: (await this.#done(place, 'POST', path, { principal_id: principalId })).id! };
  }

  async project(place: Place): Promise<string> {
    return (await this.#done(place, 'POST', `/spaces/${place.spaceId}/projects`, { name: 'Pier' })).id!;
  }

  async projectMember(place: Place, project: string): Promise<string> {
    const { principalId } = await this.member(place);
    const path = `/spaces/${place.spaceId}/projects/${project}/members`;
    const body = { principal_id: principalId, role_id: builtInRoleId('project_viewer') };
    return (await this.#done(place, 'POST', path, body)).id!;
  }

  /** Another space of the place's tenant. */
  async space(place: Place): Promise<string> {
    return (await this.#done(place, 'POST', '/spaces', { name: 'Quay' })).id!;
  }

  /** A principal of the tenant outside the space, with an address and a key. */
  async guest(place: Place): Promise<Guest> {
    const email = `guest-${newId().slice(-12)}@example.com`;
    const principalId = await this.principal(place, email);
    return { principalId, email, apiKey: (await this.apiKey(place, principalId)).token };
  }

  /** Pending, for a guest. */
  async invite(place: Place): Promise<{ id: string; guest: Guest }> {
    const guest = await this.guest(place);
    const path = `/spaces/${place.spaceId}/invites`;
    return { guest, id: (await this.#done(place, 'POST', path, { email: guest.email })).id! };
  }

  /** A guest with pending invites into two spaces. */
  async invitee(place: Place): Promise<Guest> {
    const { guest } = await this.invite(place);
    const { id } = await this.#done(place, 'POST', '/spaces', { name: 'Quay' });
    await this.#done(place, 'POST', `/spaces/${id}/invites`, { email: guest.email });
    return guest;
  }

  async remove(place: Place, path: string): Promise<void> {
    await this.#done(place, 'DELETE', path);
  }

  /** The cursor after the first of at least two entries of a list. */
  async cursor(place: Place, path: string, apiKey = place.apiKey): Promise<string> {
    const page = await this.#send({ method: 'GET', path: `/v1${path}?limit=1`, apiKey });
    return page.body.meta.next_cursor as string;
  }

  async #done(place: Place, method: string, path: string, body?: object): Promise<Record<string, string>> {
    const call = { method, path: `/v1${path}`, apiKey: place.apiKey, ...(body && { body }) };
    const answer = await this.#send(call);
    if (answer.status >= 300) {
      throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    }
    return answer.body.data as Record<string, string>;
  }
}
