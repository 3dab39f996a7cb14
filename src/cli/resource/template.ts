import { Flags } from '@oclif/core'
import { PassType } from '../../core/contract/definition.ts'
import type { Template } from '../../core/contract/templates.ts'
import { namedArg, namedFlag } from '../arguments/id-argument.ts'
import { projectFilter, projectQuery } from '../arguments/list-flags.ts'
import type { ListShape } from '../list/shape.ts'
import { showTemplate } from '../records.ts'
import { getVersion } from '../template/template-version.ts'
import { PROJECT, TEMPLATE } from './example-ids.ts'
import { callCommand, listCommand, type ResourceCommands } from './resource-command.ts'

const shape: ListShape<Template> = {
  columns: [
    { name: 'id', value: ({ id }) => id, kind: 'id' },
    { name: 'key', value: ({ key }) => key, whole: true },
    { name: 'name', value: ({ name }) => name },
    { name: 'passType', value: ({ passType }) => passType },
    { name: 'version', value: (template) => template.latestPublishedVersion, title: 'published', none: 'none' },
    { name: 'projectId', value: ({ projectId }) => projectId, kind: 'id', title: 'project' },
    { name: 'createdAt', value: ({ createdAt }) => createdAt, kind: 'time', title: 'created' },
    { name: 'updatedAt', value: ({ updatedAt }) => updatedAt, kind: 'time', title: 'updated' },
  ],
  table: ['id', 'key', 'name', 'passType', 'version', 'createdAt'],
}

const args = { id: namedArg('template') }

/** The commands `template …` that are one call of the API. */
export const commands: ResourceCommands = {
  get: callCommand({
    summary: 'Show a template.',
    examples: [`template get ${TEMPLATE}`, `template get ${TEMPLATE} --json`],
    args,
    call: ({ templates }, { args: { id } }) => templates.get({ params: { id } }),
    print: showTemplate,
  }),
  list: listCommand({
    summary: 'List templates, newest first.',
    examples: [
      'template list',
      {
        description: 'All templates of a project, and those without a project',
        command: `template list --project ${PROJECT} --project none --all`,
      },
    ],
    flags: { project: projectFilter },
    query: ({ project }) => projectQuery(project),
    list: ({ templates }) => templates.list,
    shape,
    noun: ['template', 'templates'],
    next: 'template init',
  }),
  create: callCommand({
    summary: 'Create a template without content.',
    description: 'To create one from a file, with its images and first version, use template push.',
    examples: [
      'template create --name "Day ticket" --pass-type eventTicket',
      `template create --name Member --pass-type storeCard --project ${PROJECT}`,
    ],
    flags: {
      name: Flags.string({ summary: 'Name, up to 255 characters.', required: true }),
      'pass-type': Flags.option({ summary: 'Kind of pass.', options: PassType.options, required: true })(),
      key: Flags.string({ summary: 'Unique name for files and commands: lowercase letters, digits, hyphens.' }),
      description: Flags.string({ summary: 'Description, up to 2000 characters.' }),
      project: namedFlag('project', ' of its passes'),
    },
    call: ({ templates }, { flags: { key, name, description, project, ...flags } }) =>
      templates.create({ body: { key, name, description, passType: flags['pass-type'], projectId: project } }),
    print: showTemplate,
  }),
  update: callCommand({
    summary: 'Update a template.',
    description:
      'Omitted fields keep their values. The first publish locks the pass type. Passes keep the project in which they were ' +
      'created. To change the content, use template push.',
    examples: [`template update ${TEMPLATE} --name "Day ticket"`, `template update ${TEMPLATE} --project none --json`],
    args,
    flags: {
      name: Flags.string({
        summary: 'Name, up to 255 characters.',
        atLeastOne: ['name', 'key', 'description', 'pass-type', 'project'],
      }),
      key: Flags.string({ summary: 'Unique key: lowercase letters, digits, hyphens. "" removes it.' }),
      description: Flags.string({ summary: 'Description, up to 2000 characters.' }),
      'pass-type': Flags.option({ summary: 'Kind of pass.', options: PassType.options })(),
      project: namedFlag('project', ' of new passes; none for no project', { mayBeNone: true }),
    },
    call: ({ templates }, { args: { id }, flags: { name, key, description, project, ...flags } }) =>
      templates.update({
        params: { id },
        body: {
          key: key === '' ? null : key,
          name,
          description,
          passType: flags['pass-type'],
          projectId: project === 'none' ? null : project,
        },
      }),
    print: showTemplate,
  }),
  delete: callCommand({
    summary: 'Delete a template.',
    description: 'Its issued passes stay. Asks for confirmation; scripts add --yes.',
    examples: [`template delete ${TEMPLATE}`, `template delete ${TEMPLATE} --yes --json`],
    args,
    asks: true,
    async call({ templates }, { args, ask }) {
      const { id, name } = await templates.get({ params: { id: args.id } })
      await ask(`Delete template ${name} (${id})?`)
      await templates.delete({ params: { id } })
      return { id, deleted: true }
    },
    print: ({ id }) => `Template ${id} is deleted.`,
  }),
  'delete-draft': callCommand({
    summary: 'Delete a draft version of a template.',
    description: 'A published version cannot be deleted. Asks for confirmation; scripts add --yes.',
    examples: [
      { description: 'The newest version, if it is a draft', command: `template delete-draft ${TEMPLATE}` },
      `template delete-draft ${TEMPLATE} --version 3 --yes`,
    ],
    args,
    flags: { version: Flags.integer({ summary: 'Number of the draft (default: the newest).', min: 1 }) },
    asks: true,
    async call(client, { args, flags, ask }) {
      const draft = await getVersion(client, { templateId: args.id, version: flags.version, draftOnly: true })
      await ask(`Delete version ${draft.version} of template ${args.id}?`)
      await client.templateVersions.delete({ params: { id: draft.id } })
      return { id: draft.id, version: draft.version, deleted: true }
    },
    print: ({ version }, { args }) => `Deleted version ${version} of template ${args.id}.`,
  }),
  schema: callCommand({
    summary: 'Print the JSON Schema of the variables of a template.',
    description:
      'The schema of its newest published version. It describes exactly what the server accepts, and the columns that a CSV ' +
      'file for issue needs.',
    examples: [`template schema ${TEMPLATE}`, `template schema ${TEMPLATE} > ticket.schema.json`],
    args,
    call: async ({ templates }, { args: { id } }) => (await templates.variablesSchema({ params: { id } })).schema,
    print: (schema) => JSON.stringify(schema, undefined, 2),
  }),
}
