import { Flags } from '@oclif/core'
import { lifetimeFlag, parseLifetime } from '../../cli/arguments/moment.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { details, localTimeOr } from '../../cli/command/output.ts'
import { madeDatabase } from '../../cli/operator.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'
import { roles, scopes } from '../../core/route.ts'

export default class TokenCreate extends BaseCommand {
  static override summary = 'Create an access token.'
  static override description =
    'Works on the database. The token is shown once, because only its digest is stored. By default it has all scopes ' +
    'and expires in a year. With --project it can use only that project, for example for a door or a partner; it ' +
    'cannot have the webhooks scopes.'
  static override examples = [
    '<%= config.bin %> token create --name "box office" --scope passes:read --scope passes:write',
    '<%= config.bin %> token create --name ci --role owner --expires-in 30d --json',
    '<%= config.bin %> token create --name "north gate" --project Summerfest --scope scans:read --scope scans:write',
  ]
  static override flags = {
    ...databaseFlags,
    name: Flags.string({ summary: 'Purpose of the token.', required: true }),
    role: Flags.option({ options: roles })({
      summary: 'Managing webhooks needs owner.',
      default: 'member' as const,
    }),
    scope: Flags.option({ options: scopes, multiple: true, multipleNonGreedy: true })({
      summary: 'Scope of the token. Repeatable; all by default.',
    }),
    workspace: Flags.string({ summary: 'Name or ID of the workspace.', default: 'default' }),
    project: Flags.string({
      summary: 'Project (name or ID) that the token can use. Repeatable.',
      multiple: true,
      multipleNonGreedy: true,
    }),
    'expires-in': lifetimeFlag,
  }

  async run() {
    const { flags } = await this.parse(TokenCreate)
    const { auditOperator, databaseToMake, getOrCreateWorkspace, withNewStore } = await import(
      '../../server/operator/operator.ts'
    )
    const { createToken } = await import('../../server/create-token.ts')
    const { findProjectsOfToken } = await import('../../server/operator/manage-tokens.ts')
    const now = new Date()
    const expiresAt = parseLifetime(flags['expires-in'], now)
    const newFile = databaseToMake(flags.database)
    return withNewStore(flags.database, async (store) => {
      const workspace = await getOrCreateWorkspace(store, flags.workspace, now)
      const { name, role, scope: scopes, project: named } = flags
      const { text, token } = await store.transaction(async (tx) => {
        const projectIds = named && (await findProjectsOfToken(tx, workspace.id, { named, scopes }))
        const options = { name, role, scopes, projectIds, expiresAt }
        const created = await createToken(tx, workspace.id, options, now)
        await auditOperator(tx, workspace.id, { action: 'token.create', targetId: created.token.id }, now)
        return created
      })
      const made = {
        id: token.id,
        token: text,
        name: token.name,
        role: token.role,
        scopes: token.scopes,
        workspaceId: workspace.id,
        ...(token.projectIds && { projectIds: token.projectIds }),
        expiresAt: token.expiresAt?.toISOString() ?? null,
      }
      this.log(
        details([
          ['Token', text],
          ['Id', made.id],
          ['Workspace', workspace.name],
          ['Projects', made.projectIds?.join(' ') ?? null],
          ['Role', made.role],
          ['Scopes', made.scopes.join(' ')],
          ['Expires', localTimeOr(made.expiresAt, 'never')],
        ]),
      )
      if (newFile) this.note(madeDatabase(newFile))
      this.note('Keep the token now: it is not shown again.')
      if (expiresAt === undefined)
        this.note('It expires in a year. --expires-in sets another time; passes token rotate renews it.')
      return made
    })
  }
}
