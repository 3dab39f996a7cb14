import { Args } from '@oclif/core'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { details } from '../../cli/command/output.ts'
import { readImage } from '../../cli/template/template-file.ts'

export default class ImageUpload extends ClientCommand {
  static override summary = 'Upload an image, and print the ID for definitions.'
  static override description = 'PNG or JPEG. template push uploads the images of a template file automatically.'
  static override examples = [
    '<%= config.bin %> image upload icon.png',
    '<%= config.bin %> image upload logo.jpg --json',
  ]
  static override args = { file: Args.string({ description: 'The image file.', required: true }) }

  async run() {
    const { args, flags } = await this.parse(ImageUpload)
    const { bytes, contentType } = await readImage(args.file)
    const image = await this.connect(flags).images.create({ body: bytes, contentType })
    this.log(
      details([
        ['Image', image.id],
        ['Type', image.contentType],
        ['Size', `${image.width} x ${image.height}, ${image.bytes} bytes`],
      ]),
    )
    return image
  }
}
