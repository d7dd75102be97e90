import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Outputs } from '../connect.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface SkillChanges {
  name?: string;
  description?: string;
  status?: 'active' | 'disabled' | 'archived';
}

interface OfSkill {
  skill: string;
}

interface Content extends OfSkill {
  instructionsFile?: string;
  allowTool?: string[];
  notes?: string;
}

const skillId = '<skill_id>';
const versionId = '<version_id>';
const ofSkill = (command: Command): Command => command.requiredOption('--skill <id>', 'the skill');
const ref = ({ skill }: OfSkill, version: string) => ({ skill_id: skill, version_id: version });

export function addSkills(program: Command): void {
  const group = program.command('skills').description('instructions and tools that responses may be given');

  remote(paged(group.command('list')).description('skills, newest first'), {
    call: (client, options: PageOptions) => client.skills.list.query(pageInput(options)),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          name: (row) => row.name,
          status: (row) => row.status,
          version: (row) => row.latest_version,
        }),
        meta,
      ),
  });
  remote(group.command('get').description('one skill').argument(skillId), {
    call: (client, _options, skill) => client.skills.get.query({ skill_id: skill }),
    show: ({ data }) => fields(data),
  });
  remote(
    group
      .command('create')
      .description('a skill without a version')
      .requiredOption('--name <name>', 'unique in the tenant')
      .option('--description <text>', 'for people'),
    {
      call: (client, { name, description }: { name: string; description?: string }) =>
        client.skills.create.mutate({ name, ...(description === undefined ? {} : { description }) }),
      show: ({ data }) => fields(data),
    },
  );
  remote(
    group
      .command('update')
      .description('change what is given')
      .argument(skillId)
      .option('--name <name>', 'unique in the tenant')
      .option('--description <text>', 'for people')
      .option('--status <status>', 'active, disabled or archived'),
    {
      call: (client, { name, description, status }: SkillChanges, skill) =>
        client.skills.update.mutate({
          skill_id: skill,
          ...(name === undefined ? {} : { name }),
          ...(description === undefined ? {} : { description }),
          ...(status === undefined ? {} : { status }),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(group.command('delete').description('a skill with its versions').argument(skillId), {
    call: (client, _options, skill) => client.skills.delete.mutate({ skill_id: skill }),
    show: ({ data }) => fields(data),
  });
}

export function addSkillVersions(program: Command): void {
  const group = program.command('skill-versions').description('what a skill says and may use');

  remote(ofSkill(paged(group.command('list')).description('versions, newest first')), {
    call: (client, { skill, ...page }: OfSkill & PageOptions) =>
      client.skillVersions.list.query({ skill_id: skill, ...pageInput(page) }),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          version: (row) => row.version,
          status: (row) => row.status,
          tools: (row) => row.allowed_tools.length,
          published: (row) => row.published_at,
          deprecated: (row) => row.deprecated_at,
        }),
        meta,
      ),
  });
  remote(ofSkill(group.command('get').description('one version').argument(versionId)), {
    call: (client, options: OfSkill, version) => client.skillVersions.get.query(ref(options, version)),
    show,
  });
  remote(
    ofSkill(group.command('draft').description('a new version, not yet offered'))
      .requiredOption('--instructions-file <path>', 'the instructions for the model')
      .option('--allow-tool <pattern...>', 'mcp__<slug>__<tool> or mcp__<slug>__*')
      .option('--notes <text>', 'for people'),
    {
      call: (client, options: Content, _argument) =>
        client.skillVersions.draft.mutate({
          skill_id: options.skill,
          instructions: readFileSync(options.instructionsFile ?? '', 'utf8'),
          ...contentOf(options),
        }),
      show,
    },
  );
  remote(
    ofSkill(group.command('edit').description('change what is given of a draft'))
      .argument(versionId)
      .option('--instructions-file <path>', 'the instructions for the model')
      .option('--allow-tool <pattern...>', 'exactly these')
      .option('--notes <text>', 'for people'),
    {
      call: (client, options: Content, version) =>
        client.skillVersions.edit.mutate({
          ...ref(options, version),
          ...(options.instructionsFile === undefined
            ? {}
            : { instructions: readFileSync(options.instructionsFile, 'utf8') }),
          ...contentOf(options),
        }),
      show,
    },
  );
  for (const [verb, what] of [
    ['publish', 'give a draft its number; new responses get it'],
    ['deprecate', 'withdraw it from new responses'],
  ] as const) {
    remote(ofSkill(group.command(verb).description(what).argument(versionId)), {
      call: (client, options: OfSkill, version) => client.skillVersions[verb].mutate(ref(options, version)),
      show,
    });
  }
}

function contentOf({ allowTool, notes }: Content): { allowed_tools?: string[]; notes?: string } {
  return {
    ...(allowTool === undefined ? {} : { allowed_tools: allowTool }),
    ...(notes === undefined ? {} : { notes }),
  };
}

/** The instructions come last: they may be long. */
function show({ data }: Outputs['skillVersions']['get']): string {
  const { instructions, allowed_tools: tools, ...version } = data;
  return `${fields({ ...version, allowed_tools: tools.join(', ') })}\n\n${instructions.replaceAll(/[^\P{Cc}\n\t]|\p{Cf}/gu, '?')}`;
}
