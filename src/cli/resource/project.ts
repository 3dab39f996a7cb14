import { Flags } from '@oclif/core'
import { type Project, ProjectColor } from '../../core/contract/projects.ts'
import { namedArg, namedFlag } from '../arguments/id-argument.ts'
import { count, details } from '../command/output.ts'
import type { ListShape } from '../list/shape.ts'
import { showProject } from '../records.ts'
import { PROJECT } from './example-ids.ts'
import { callCommand, listCommand, type ResourceCommands } from './resource-command.ts'

const shape: ListShape<Project> = {
  columns: [
    { name: 'id', value: ({ id }) => id, kind: 'id' },
    { name: 'name', value: ({ name }) => name },
    { name: 'color', value: ({ color }) => color, title: 'color' },
    { name: 'description', value: ({ description }) => description },
    { name: 'createdAt', value: ({ createdAt }) => createdAt, kind: 'time', title: 'created' },
    { name: 'updatedAt', value: ({ updatedAt }) => updatedAt, kind: 'time', title: 'updated' },
  ],
  table: ['id', 'name', 'color', 'createdAt'],
}

const args = { id: namedArg('project') }

const fields = { description: Flags.string({ summary: 'Description, up to 2000 characters.' }) }

/** The commands `project …`. */
export const commands: ResourceCommands = {
  get: callCommand({
    summary: 'Show a project.',
    examples: [`project get ${PROJECT}`, `project get ${PROJECT} --json`],
    args,
    call: ({ projects }, { args: { id } }) => projects.get({ params: { id } }),
    print: showProject,
  }),
  list: listCommand({
    summary: 'List projects, newest first.',
    examples: [
      { description: 'The newest projects', command: 'project list' },
      { description: 'All projects, for a script', command: 'project list --all --json' },
    ],
    list: ({ projects }) => projects.list,
    shape,
    noun: ['project', 'projects'],
    next: 'project create --name NAME',
  }),
  create: callCommand({
    summary: 'Create a project.',
    examples: [
      'project create --name "Spring fair"',
      'project create --name "Spring fair" --description "Both days" --color green --json',
    ],
    flags: {
      name: Flags.string({ summary: 'Name, up to 255 characters.', required: true }),
      ...fields,
      color: Flags.option({ summary: 'Color (default gray).', options: ProjectColor.options })(),
    },
    call: ({ projects }, { flags: { name, description, color } }) =>
      projects.create({ body: { name, description, color } }),
    print: showProject,
  }),
  update: callCommand({
    summary: 'Update a project.',
    description: 'Omitted fields keep their values.',
    examples: [
      `project update ${PROJECT} --name "Autumn fair"`,
      `project update ${PROJECT} --color orange --description ""`,
      'project update "Acme fair" --apple-identity acme',
    ],
    args,
    flags: {
      name: Flags.string({
        summary: 'Name, up to 255 characters.',
        atLeastOne: ['name', 'description', 'color', 'apple-identity', 'google-identity'],
      }),
      ...fields,
      color: Flags.option({ summary: 'Color.', options: ProjectColor.options })(),
      'apple-identity': namedFlag(
        'identity',
        ' that signs new passes for Apple; none for the default of the workspace',
        {
          mayBeNone: true,
        },
      ),
      'google-identity': namedFlag('identity', ' of new passes at Google; none for the default of the workspace', {
        mayBeNone: true,
      }),
    },
    call: ({ projects }, { args: { id }, flags: { name, description, color, ...identities } }) =>
      projects.update({
        params: { id },
        body: {
          name,
          description,
          color,
          appleIdentityId: orNull(identities['apple-identity']),
          googleIdentityId: orNull(identities['google-identity']),
        },
      }),
    print: showProject,
  }),
  delete: callCommand({
    summary: 'Delete a project.',
    description: 'Its templates and passes stay, without a project. Asks for confirmation; scripts add --yes.',
    examples: [`project delete ${PROJECT}`, `project delete ${PROJECT} --yes --json`],
    args,
    asks: true,
    async call({ projects }, { args: { id }, ask }) {
      await ask(`Delete project ${id}?`)
      await projects.delete({ params: { id } })
      return { id, deleted: true }
    },
    print: ({ id }) => `Project ${id} is deleted.`,
  }),
  stats: callCommand({
    summary: 'Count the templates and passes of a project.',
    examples: [`project stats ${PROJECT}`, `project stats ${PROJECT} --json`],
    args,
    call: ({ projects }, { args: { id } }) => projects.stats({ params: { id } }),
    print: (stats) =>
      details([
        ['Project', stats.projectId],
        ['Templates', count(stats.templateCount)],
        ['Live passes', count(stats.livePassCount)],
        ['All passes', count(stats.totalPassCount)],
        ['Installed on Google', count(stats.googleInstallCount)],
        ['Added in the last 7 days', count(stats.passesAddedLast7Days)],
      ]),
  }),
}

function orNull(id: string | undefined): string | null | undefined {
  return id === 'none' || id === 'null' ? null : id
}
