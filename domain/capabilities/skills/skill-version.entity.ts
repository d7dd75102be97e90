import { defineEntity } from '@mikro-orm/core';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { canonicalJson, sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { versionCanBecome, type VersionStatus } from './skill-status.ts';

const schema = defineEntity({
  name: 'SkillVersion',
  tableName: 'skill_versions',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    skillId: p.uuid(),
    version: p.integer().nullable(),
    status: p.text().$type<VersionStatus>().default('draft'),
    instructions: p.text(),
    allowedTools: p.json<string[]>().defaultRaw(`'[]'`),
    contentHash: p.text().nullable(),
    notes: p.text().nullable(),
    createdBy: p.uuid(),
    createdAt: p.datetime().defaultRaw('now()'),
    publishedAt: p.datetime().nullable(),
    deprecatedAt: p.datetime().nullable(),
    deprecatedBy: p.uuid().nullable(),
  }),
});

/** The content and grants of a skill. Immutable once published. */
export class SkillVersion extends schema.class {
  /** @throws `invalid_state` unless it is a draft */
  publish(version: number, now: Date): void {
    this.become('published');
    this.version = version;
    this.publishedAt = now;
    this.contentHash = sha256(
      canonicalJson({ instructions: this.instructions, allowed_tools: this.allowedTools }),
    );
  }

  /** @throws `invalid_state` unless it is published */
  deprecate(by: string, now: Date): void {
    this.become('deprecated');
    this.deprecatedAt = now;
    this.deprecatedBy = by;
  }

  private become(status: VersionStatus): void {
    if (!versionCanBecome(this.status, status)) {
      throw new DomainError('invalid_state', `A ${this.status} version cannot become ${status}.`);
    }
    this.status = status;
  }
}
schema.setClass(SkillVersion);
