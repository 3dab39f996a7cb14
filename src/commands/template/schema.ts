import { namedArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'

export default class TemplateSchema extends ClientCommand {
  static override summary = 'Print the JSON Schema of the variables that a template takes.'
  static override description =
    'That of its newest published version. It says exactly what the server accepts, and what a CSV file for issue needs.'
  static override examples = [
    '<%= config.bin %> template schema 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    '<%= config.bin %> template schema 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 > ticket.schema.json',
  ]
  static override args = { id: namedArg('template') }

  async run() {
    const { args, flags } = await this.parse(TemplateSchema)
    const { schema } = await this.connect(flags).templates.variablesSchema({ params: { id: args.id } })
    this.log(JSON.stringify(schema, undefined, 2))
    return schema
  }
}
