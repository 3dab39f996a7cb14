/** A stock of names: how people of one language write them, and how they spell them in an e-mail address. */
export interface Culture {
  /** The share of people with this culture, relative to the others. */
  weight: number
  /** The order of the names, and the separator between them. */
  order: 'given family' | 'family given' | 'familygiven'
  /** Names divided by commas; `native:latin` where the letters are not Latin. */
  given: string
  family: string
}

export const cultures: Culture[] = [
  {
    weight: 14,
    order: 'given family',
    given:
      'João, Inês, Conceição, Luís, Mónica, Zoë, François, Renée, Jürgen, Jörg, Käthe, Marie-Claire, Jean-Luc, Núria',
    family:
      'Gonçalves, Simões, Araújo, Lefèvre, Béranger, Müller, Großmann, Brüggemann, Muñoz, Peña, D’Angelo, de la Fuente, Puig i Cadafalch, Van den Bœuf',
  },
  {
    weight: 10,
    order: 'given family',
    given:
      'Grace, Liam, Niamh, Siobhán, Oisín, Kealiʻi, Amelia, Noah, Ngozi, Chidi, Adébáyọ̀, Tolúwanimí, Fatou, Mamadou',
    family:
      "O'Neill, Ó Briain, MacDonald, Smith, Okafor, Ọláṣẹ́, N'Diaye, Fitzgerald-Moore, Kahanamoku, O'Connor, Llewellyn, D'Souza, Adichie",
  },
  {
    weight: 8,
    order: 'given family',
    given:
      'Åsa, Søren, Øystein, Björn, Þórunn, Sæunn, Päivi, Väinö, Łukasz, Żaneta, Jiří, Ľubica, Šárka, Dženana, Đorđe, Ştefan, Ilze, Žygimantas',
    family:
      'Ångström, Jørgensen, Ødegård, Hämäläinen, Mäkelä, Wójcik, Kaczmarek, Zając, Krejčí, Janů, Hadžić, Đurić, Ionescu, Țepeș, Bērziņš, Žukauskas',
  },
  {
    weight: 5,
    order: 'family given',
    given: 'Ágnes, Zsófia, László, Győző, Réka, Ödön, Tünde',
    family: 'Szőke, Kovács, Nagy, Tóth, Szűcs, Győri, Erdős',
  },
  {
    weight: 6,
    order: 'given family',
    given: 'Ayşe, İbrahim, Çağla, Oğuz, Gülşen, Işıl, Ümit, Şule',
    family: 'Yılmaz, Öztürk, Çelik, Aydın, Şahin, Güneş, Işık, Ağaoğlu',
  },
  {
    weight: 5,
    order: 'family given',
    given: 'Thị Hương, Văn Đức, Quỳnh Anh, Minh Tuấn, Ngọc Ánh, Hữu Phước, Thùy Dương',
    family: 'Nguyễn, Trần, Lê, Phạm, Đặng, Vũ, Bùi, Hồ',
  },
  {
    weight: 9,
    order: 'given family',
    given:
      'Зоя:zoya, Олексій:oleksii, Сергей:sergey, Наталія:natalia, Юрий:yuriy, Олена:olena, Щаслава:shchaslava, Ќирил:kjiril, Љубица:ljubica, Андрій:andrii, Євгенія:yevheniia',
    family:
      'Шевченко:shevchenko, Коваленко:kovalenko, Бондарчук:bondarchuk, Черных:chernykh, Долгих:dolgikh, Ђорђевић:djordjevic, Живковић:zivkovic, Щербак:shcherbak, Петренко:petrenko, Ґудзь:gudz',
  },
  {
    weight: 5,
    order: 'given family',
    given: 'Ελένη:eleni, Δήμητρα:dimitra, Ευφροσύνη:effrosyni, Αικατερίνη:aikaterini, Μαρία:maria, Χρυσούλα:chrysoula',
    family: 'Παπαδοπούλου:papadopoulou, Γεωργίου:georgiou, Οικονόμου:oikonomou, Αλεξίου:alexiou, Θεοδώρου:theodorou',
  },
  {
    weight: 3,
    order: 'given family',
    given: 'Γιώργος:giorgos, Νικόλαος:nikolaos, Οδυσσέας:odysseas, Ξενοφών:xenofon',
    family: 'Παπαδόπουλος:papadopoulos, Γεωργίου:georgiou, Οικονόμου:oikonomou, Καζαντζίδης:kazantzidis',
  },
  {
    weight: 8,
    order: 'given family',
    given:
      'فاطمة:fatima, محمد:mohammed, ليلى:layla, عبد الرحمن:abdelrahman, نور الهدى:nourelhouda, يوسف:youssef, هُدى:huda, زينب:zainab',
    family:
      'الحدّاد:alhaddad, بن علي:benali, القاسم:alqasim, الشريف:alsharif, منصور:mansour, أبو زيد:abuzayd, الإدريسي:alidrissi, خوري:khoury',
  },
  {
    weight: 3,
    order: 'given family',
    given: 'پریسا:parisa, کیان:kian, ژاله:zhaleh, گلناز:golnaz, مهدی:mehdi',
    family: 'حسینی:hosseini, کریم‌زاده:karimzadeh, پورمحمدی:pourmohammadi, چنگیزی:changizi',
  },
  {
    weight: 5,
    order: 'given family',
    given: 'נועם:noam, יעל:yael, אביגיל:avigail, איתמר:itamar, תמר:tamar, שְׁלֹמֹה:shlomo',
    family: 'כהן:cohen, לוי:levi, בן־דוד:bendavid, מזרחי:mizrahi, צ׳רניחובסקי:tchernichovsky, אברהם:avraham',
  },
  {
    weight: 8,
    order: 'given family',
    given:
      'अनन्या:ananya, विक्रम:vikram, लक्ष्मी:lakshmi, कृष्णा:krishna, श्रेया:shreya, अर्जुन:arjun, ज्योति:jyoti, सिद्धार्थ:siddharth',
    family: 'शर्मा:sharma, कुलकर्णी:kulkarni, त्रिपाठी:tripathi, अग्रवाल:agrawal, श्रेष्ठ:shrestha, जोशी:joshi, मिश्रा:mishra',
  },
  {
    weight: 2,
    order: 'given family',
    given: 'அனிதா:anitha, கார்த்திக்:karthik, மீனாட்சி:meenakshi',
    family: 'சுப்பிரமணியன்:subramanian, கிருஷ்ணன்:krishnan',
  },
  {
    weight: 2,
    order: 'given family',
    given: 'শ্রাবণী:shraboni, রাহুল:rahul, ঋতুপর্ণা:rituparna',
    family: 'চট্টোপাধ্যায়:chattopadhyay, রহমান:rahman',
  },
  { weight: 1, order: 'given family', given: 'ਗੁਰਪ੍ਰੀਤ:gurpreet, ਜਸਲੀਨ:jasleen', family: 'ਸਿੰਘ:singh, ਢਿੱਲੋਂ:dhillon' },
  {
    weight: 9,
    order: 'familygiven',
    given: '秀英:xiuying, 伟:wei, 雨桐:yutong, 志明:zhiming, 美玲:meiling, 子涵:zihan, 建國:jianguo, 𠮷祥:jixiang',
    family: '王:wang, 李:li, 張:zhang, 陈:chen, 歐陽:ouyang, 司马:sima, 劉:liu, 黄:huang',
  },
  {
    weight: 8,
    order: 'family given',
    given: '陽菜:hina, 翔太:shota, さくら:sakura, 健一:kenichi, 美咲:misaki, マリア:maria, 大輔:daisuke, 結衣:yui',
    family:
      '佐藤:sato, 髙橋:takahashi, 渡邉:watanabe, 﨑山:sakiyama, 鈴木:suzuki, 五十嵐:igarashi, 𠮷田:yoshida, 伊藤:ito',
  },
  {
    weight: 6,
    order: 'familygiven',
    given: '서연:seoyeon, 민준:minjun, 지우:jiwoo, 하은:haeun, 도윤:doyun, 수빈:subin, 현우:hyunwoo',
    family: '김:kim, 이:lee, 박:park, 최:choi, 정:jung, 남궁:namgung, 황보:hwangbo',
  },
  {
    weight: 4,
    order: 'given family',
    given: 'สมชาย:somchai, พรทิพย์:porntip, ณัฐวุฒิ:nattawut, กัญญารัตน์:kanyarat, ธีรเดช:theeradej',
    family: 'ศรีสุข:srisuk, วงศ์สวัสดิ์:wongsawat, ทองดี:thongdee, เจริญพร:charoenporn, จันทร์เพ็ญ:chanpen',
  },
  {
    weight: 4,
    order: 'given family',
    given: 'አበበ:abebe, ሰላም:selam, ትዕግሥት:tigist, ዮሐንስ:yohannes, ምሕረት:mihret, ገብረ መድኅን:gebremedhin',
    family: 'በቀለ:bekele, ተስፋዬ:tesfaye, ኃይለ ሥላሴ:haileselassie, መንግሥቱ:mengistu, ወልደ ማርያም:woldemariam',
  },
  {
    weight: 3,
    order: 'given family',
    given: 'ნინო:nino, თამარ:tamar, გიორგი:giorgi, ქეთევან:ketevan',
    family: 'ბერიძე:beridze, კაპანაძე:kapanadze, ჩხეიძე:chkheidze, წიკლაური:tsiklauri',
  },
  {
    weight: 3,
    order: 'given family',
    given: 'Անահիտ:anahit, Գրիգոր:grigor, Հասմիկ:hasmik, Տիգրան:tigran',
    family: 'Պետրոսյան:petrosyan, Հակոբյան:hakobyan, Ղազարյան:ghazaryan, Մկրտչյան:mkrtchyan',
  },
]
